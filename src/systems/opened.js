/**
 * A system of a user, opened: commands go to admission, and consumers, tasks and followers begin when they are asked for.
 *
 *     submit ─▶ src/admission ─▶ lua/admit.lua ─▶ state, events, outbox, tasks
 *     get, follow ◀─ state, events       consume ◀─ outbox       tasks ─▶ submit
 *
 * @import { Command } from '../admission/index.js'
 * @import { OpenAdmission } from './opening.js'
 * @import { Definition } from './checked-definition.js'
 * @import { Decision, OpenedSystem, SystemAccount } from './opened-types.js'
 */
import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import { expectDurability, oursIn, readState } from '../admission/index.js'
import { FreshetError, kindOf } from '../errors.js'
import { createServers } from '../store/index.js'
import { closeInTime, GRACE_MS } from './closing.js'
import { commandOf, expectKey } from './command-arguments.js'
import { createConsumers } from './consuming.js'
import { createFollowing } from './follow.js'
import { createFrame } from './frame.js'
import { openDefinition } from './opening.js'
import { UNCOUNTED } from './uncounted.js'

/** @type {Record<string, 'full' | 'late'>} */
const UNSENT = { ADMISSION_FULL: 'full', ADMISSION_LATE: 'late', ADMISSION_BACKLOG: 'full' }
const NOT_COUNTED = ['ARGUMENT_INVALID', 'PIPELINE_CLOSED', 'REQUEST_DIFFERS', 'RULE_DIFFERS']
let opened = 0

/**
 * Counts commands and what became of them.
 * @param {OpenAdmission['submit']} submit @param {SystemAccount} account @param {string | null} system with rules of Freshet
 */
function createDeciding (submit, account, system) {
  let active = 0
  /** @type {(value?: unknown) => void} */
  let idle = () => {}

  return {
    /** @param {Command} command @returns {Promise<Decision>} */
    async decide (command) {
      active++
      try {
        const { code, accepted = false, seq, version, isReplay, details, waitMs } = expectDecided(await submit(command), system)
        account[isReplay ? 'replayed' : accepted ? 'accepted' : 'rejected']++
        return { code, accepted, seq, version, isReplay, details, ...waitMs !== undefined && { waitMs } }
      } catch (error) {
        count(account, error)
        throw error
      } finally {
        if (--active === 0) idle()
      }
    },

    /** When nothing is being decided. */
    ended: async () => { if (active > 0) await new Promise((resolve) => { idle = resolve }) }
  }
}

/**
 * @param {Definition} definition @param {any} settings checked
 * @returns {Promise<OpenedSystem>}
 * @throws {FreshetError} RULE_FAILED, RULE_DIFFERS, SYSTEM_DIFFERS, DURABILITY_UNSUPPORTED, and why the primary cannot be used
 */
export async function open ({ name: system, rules, driver }, settings) {
  const { redisUrl, deadlineMs, durability, log } = settings
  const name = `freshet-${process.pid}-${system}-${++opened}`
  const account = {
    accepted: 0, rejected: 0, replayed: 0, cached: 0, failed: 0, stopped: 0, full: 0, late: 0, lost: 0, deadLetters: 0
  }
  const closing = new AbortController()
  // a listener of each follower
  setMaxListeners(0, closing.signal)
  const metrics = { ...UNCOUNTED, answered () { account.cached++ }, deadLettered () { account.deadLetters++ } }
  const ours = oursIn(rules)
  const isCached = ours ? Object.keys(ours.memory.certain).length > 0 : Object.values(rules).some(({ certain }) => certain)
  const servers = createServers({ redisUrl, isReading: false, isAsked: false, name, deadlineMs, log })
  const opening = openDefinition({ name: system, rules }, { ...settings, systemPartitions: settings.partitions }, {
    servers, name, durability: () => durability, isCached, metrics, log
  })
  const close = () => opening.close().finally(servers.close)
  const { target, routes } = opening.open()
  await (ours ? expectPrimaries(routes, durability).then(opening.agreed) : opening.agreed()).catch(async (error) => {
    await close()
    throw error
  })
  const { keyOf, partitionOf, partitions, connectionOf } = target
  const deciding = createDeciding(opening.submit, account, ours && system)
  const frame = createFrame(target, { id: `${name}-${randomUUID()}`, metrics })
  const consumers = createConsumers(target, { frame, rules, submit: deciding.decide, driver })
  const following = createFollowing(target, closing.signal)

  /** @type {Promise<void> | null} */
  let closed = null
  async function end () {
    closing.abort()
    try {
      await closeInTime(Promise.all([frame.close(), following.close()]).then(deciding.ended), `commands of ${system}`, GRACE_MS)
    } finally {
      await close()
    }
  }

  function expectOpen () {
    if (closing.signal.aborted) throw new FreshetError('PIPELINE_CLOSED', `the system ${system} is closed; open it again`)
  }

  return {
    account,

    async submit (given) {
      const command = commandOf(given, rules)
      expectOpen()
      return deciding.decide(command)
    },

    async get (key) {
      expectKey(key)
      expectOpen()
      const partition = partitionOf(key)
      return readState(connectionOf(partition), keyOf(partition), key, target.names)
    },

    follow (key, options) {
      expectKey(key)
      expectOpen()
      return following.follow(key, options)
    },

    async consume (consumer, handler, options) {
      expectOpen()
      const worker = await consumers.consume(consumer, handler, options)
      await consumers.runTasks()
      return worker
    },

    async runTasks () {
      expectOpen()
      await consumers.runTasks()
    },

    status () {
      const reasons = []
      try {
        for (let partition = 0; partition < partitions; partition++) routes.route(keyOf(partition)(''))
      } catch (error) {
        reasons.push(`${error.code}: ${kindOf(error.code)?.meaning}`)
      }
      reasons.push(...opening.reasons())
      return { ready: reasons.length === 0 && !closing.signal.aborted, reasons }
    },

    close: () => (closed ??= end())
  }
}

/**
 * As connected.js does for rules with Lua.
 * @param {OpenAdmission['routes']} routes @param {string} durability
 * @throws {FreshetError} DURABILITY_UNSUPPORTED, and why the primary cannot be used
 */
async function expectPrimaries (routes, durability) {
  await routes.opened
  for (const one of routes.connections) await expectDurability(one, durability)
}

/**
 * Rules with Lua fail by themselves (own-rules.js).
 * @template {Pick<Decision, 'code' | 'details'>} D @param {D} decision @param {string | null} system with rules of Freshet
 * @returns {D} @throws {FreshetError} RULE_FAILED, REQUEST_DIFFERS
 */
function expectDecided (decision, system) {
  if (system === null) return decision
  if (decision.code === 'failed') throw new FreshetError('RULE_FAILED', `a rule of ${system} failed: ${decision.details.reason}`)
  if (decision.code === 'other_body') {
    throw new FreshetError('REQUEST_DIFFERS', `a request with this id was accepted with other arguments by ${system}; use another id`)
  }
  return decision
}

/** @param {SystemAccount} account @param {any} error */
function count (account, { code, isStopped }) {
  if (code === 'RULE_FAILED') account[isStopped ? 'stopped' : 'failed']++
  else if (!NOT_COUNTED.includes(code)) account[UNSENT[code] ?? 'lost']++
}
