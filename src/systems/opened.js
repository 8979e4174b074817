/**
 * A system of a user, opened: commands go to admission, and consumers, tasks and followers begin when they are asked for.
 *
 *     submit ─▶ src/admission ─▶ lua/decide.lua ─▶ state, events, outbox, tasks
 *     get, follow ◀─ state, events       consume ◀─ outbox       tasks ─▶ submit
 *
 * A rule that never ends keeps the replies of its connection back until it is stopped, so reads and leases have a connection of their own.
 */
import { randomUUID } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import {
  admissionKey, createAdmission, createOwnRules, createRejections, createStopper, expectDurability, openConfirms, readState, REPLY_MS
} from '../admission/index.js'
import { partitionOf as partitionOfId } from '../item/index.js'
import { FreshetError, kindOf } from '../errors.js'
import { createRoutes, openerOf } from '../store/index.js'
import { createConsumers } from './consuming.js'
import { createFollowing } from './follow.js'

const KEY = /^[A-Za-z0-9_.:-]{1,64}$/
const MAX_ARGS_CHARS = 64 * 1024
const MAX_ID_CHARS = 256
/** @type {Record<string, 'full' | 'late'>} */
const UNSENT = { ADMISSION_FULL: 'full', ADMISSION_LATE: 'late', ADMISSION_BACKLOG: 'full' }
const NOT_COUNTED = ['ARGUMENT_INVALID', 'PIPELINE_CLOSED', 'REQUEST_DIFFERS', 'RULE_DIFFERS']
let opened = 0

/** @typedef {Awaited<ReturnType<typeof import('./checked-definition.js').checkedDefinition>>} Definition */
/** @typedef {Parameters<typeof createRejections>[0]['metrics'] & Parameters<typeof createAdmission>[0]['metrics'] &
 *   { ruleFailed: (how: 'failed' | 'stopped') => void }} Metrics of a process */
/** @typedef {import('./consuming.js').ConsumerMetrics} ConsumerMetrics */

/** @type {Readonly<Metrics & ConsumerMetrics>} */
const UNCOUNTED = Object.freeze({
  sent () {}, waited () {}, dropped () {}, answered () {}, asked () {}, ruleFailed () {}, finished () {}, failed () {}, deadLettered () {}
})

/**
 * The connections of a system, and what decides its commands.
 * @param {Definition} definition @param {any} settings @param {string} name of connections
 * @param {{ account: { cached: number }, metrics: Metrics }} counters
 */
function connect ({ name: system, rules }, settings, name, { account, metrics }) {
  const { redisUrl: primaryUrl, keyPrefix, partitions, deadlineMs, log } = settings
  const keyOf = (/** @type {number} */ partition) => admissionKey(keyPrefix, system, partition)
  const partitionOf = (/** @type {string} */ key) => partitionOfId(Buffer.from(key), partitions)
  const stopper = createStopper({ name: `${name}:stop`, log })
  const routes = createRoutes({ primaryUrl, name, deadlineMs: Math.max(deadlineMs, REPLY_MS) })
  const reads = createRoutes({ primaryUrl, name: `${name}:reads`, deadlineMs })
  const connectionOf = (/** @type {number} */ partition) => reads.route(keyOf(partition)('')).connection
  const place = { system, primaryUrl, keyOf, partitionOf, partitions, connectionOf, deadlineMs, name, log }
  const confirms = openConfirms({ ...settings, primaryUrl, name: `${name}:confirm`, keyOf, waitMs: settings.ackWithinMs })
  const own = createOwnRules({ keyPrefix, system, rules, watch: stopper.watch })
  const cache = Object.keys(own.memory.certain).length > 0 ? openCache(settings, { ...place, rules: own.memory, account, metrics }) : null
  const admission = createAdmission({
    ...settings,
    route: routes.route,
    system,
    own,
    rejections: cache?.rejections,
    confirmOf: confirms?.of,
    metrics
  })

  return {
    place,
    submit: admission.submit,
    /** Throws why there is no primary. */
    expectPrimary () { for (let partition = 0; partition < partitions; partition++) routes.route(keyOf(partition)('')) },

    /** @throws {FreshetError} RULE_FAILED, RULE_DIFFERS, SYSTEM_DIFFERS, DURABILITY_UNSUPPORTED, and why the primary cannot be used */
    async agree () {
      await Promise.all([routes.opened, reads.opened])
      for (const connection of routes.connections) {
        stopper.open(connection.url)
        await expectDurability(connection, settings.durability)
      }
      await own.check(routes.route(keyOf(0)('')).connection)
      await admission.agreed()
      await own.agree(routes.router, Array.from({ length: partitions }, (_, partition) => keyOf(partition)))
    },

    close: () => Promise.all([cache?.close(), routes.close(), reads.close(), confirms?.close(), stopper.close()])
  }
}

/**
 * Counts commands and what became of them.
 * @param {Pick<ReturnType<typeof connect>, 'submit'>} admission
 * @param {{ account: import('./face.js').SystemAccount, metrics: Metrics }} counters
 */
function createDeciding ({ submit }, { account, metrics }) {
  let active = 0
  /** @type {(value?: unknown) => void} */
  let idle = () => {}
  /** why the last call decided nothing @type {FreshetError | null} */
  let differs = null

  return {
    get differs () { return differs },

    /** @param {import('../admission/index.js').Command} command @returns {Promise<import('./face.js').Decision>} */
    async decide (command) {
      active++
      try {
        const { code, accepted = false, seq, version, isReplay, details } = await submit(command)
        differs = null
        account[isReplay ? 'replayed' : accepted ? 'accepted' : 'rejected']++
        return { code, accepted, seq, version, isReplay, details }
      } catch (error) {
        count(account, error)
        if (error.code === 'RULE_FAILED') metrics.ruleFailed(error.isStopped ? 'stopped' : 'failed')
        if (error.code === 'RULE_DIFFERS') differs = error
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
 * @param {Definition} definition @param {any} settings checked @param {Partial<Metrics & ConsumerMetrics>} [counted] metrics of the process
 * @returns {Promise<import('./face.js').OpenedSystem>}
 * @throws {FreshetError} RULE_FAILED, RULE_DIFFERS, SYSTEM_DIFFERS, DURABILITY_UNSUPPORTED, and why the primary cannot be used
 */
export async function open (definition, settings, counted = {}) {
  const { name: system, rules } = definition
  const name = `freshet-${process.pid}-${system}-${++opened}`
  const account = {
    accepted: 0, rejected: 0, replayed: 0, cached: 0, failed: 0, stopped: 0, full: 0, late: 0, lost: 0, deadLetters: 0
  }
  const closing = new AbortController()
  // a listener of each follower
  setMaxListeners(0, closing.signal)
  const metrics = { ...UNCOUNTED, ...counted }
  const connected = connect(definition, settings, name, { account, metrics })
  const { place, close, agree, expectPrimary } = connected
  const { keyOf, partitionOf, connectionOf } = place
  const deciding = createDeciding(connected, { account, metrics })
  await agree().catch(async (error) => {
    await close()
    throw error
  })
  const consumers = createConsumers({ ...place, id: `${name}-${randomUUID()}`, account, metrics, submit: deciding.decide })
  const following = createFollowing({ ...place, closing: closing.signal })

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
      return readState(connectionOf(partition), keyOf(partition), key)
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
        expectPrimary()
      } catch (error) {
        reasons.push(`${error.code}: ${kindOf(error.code)?.meaning}`)
      }
      if (deciding.differs) reasons.push(`${deciding.differs.code}: ${deciding.differs.message}`)
      return { ready: reasons.length === 0 && !closing.signal.aborted, reasons }
    },

    async close () {
      closing.abort()
      await Promise.all([consumers.close(), following.close()])
      await deciding.ended()
      await close()
    }
  }
}

/**
 * Certain rejections, from a memory of keys that follows the outboxes on a connection of its own.
 * @param {{ requestMs: number }} settings
 * @param {Pick<Parameters<typeof createRejections>[0], 'keyOf' | 'partitionOf' | 'partitions' | 'rules' | 'log'> &
 *   { primaryUrl: string, name: string, deadlineMs: number, account: { cached: number }, metrics: Metrics,
 *   connectionOf: (partition: number) => import('../store/index.js').Connection }} place
 */
function openCache ({ requestMs }, { primaryUrl, name, deadlineMs, account, metrics, ...place }) {
  const rejections = createRejections({
    ...place,
    ...openerOf(primaryUrl, { name: `${name}:outbox`, deadlineMs }),
    requestMs,
    metrics: {
      ...metrics,
      answered () {
        account.cached++
        metrics.answered()
      }
    }
  })
  return { rejections, close: rejections.close }
}

/** @param {import('./face.js').SystemAccount} account @param {any} error */
function count (account, { code, isStopped }) {
  if (code === 'RULE_FAILED') account[isStopped ? 'stopped' : 'failed']++
  else if (!NOT_COUNTED.includes(code)) account[UNSENT[code] ?? 'lost']++
}

/** @param {string} message */
const invalid = (message) => new FreshetError('ARGUMENT_INVALID', message)

/** @param {unknown} key */
function expectKey (key) {
  if (typeof key !== 'string' || !KEY.test(key)) throw invalid(`key ${shown(key)}; expected 1-64 of A-Z a-z 0-9 _ . : -`)
}

/** @param {unknown} given */
const shown = (given) => typeof given === 'string' ? JSON.stringify(given.slice(0, 100)) : `of type ${typeof given}`

/** @param {any} given @param {Record<string, unknown>} rules @returns {import('../admission/index.js').Command} */
function commandOf (given, rules) {
  const { rule, key, args, requestId = '' } = given ?? {}
  if (typeof rule !== 'string' || !Object.hasOwn(rules, rule)) {
    throw invalid(`rule ${shown(rule)}; expected ${Object.keys(rules).join(' | ')}`)
  }
  expectKey(key)
  const isList = Array.isArray(args) && args.every((one) => typeof one === 'string' && one.isWellFormed())
  if (!isList) throw invalid('args: expected an array of texts; write numbers as texts')
  if (args.reduce((sum, one) => sum + one.length, 0) > MAX_ARGS_CHARS) throw invalid('args: expected at most 64 Ki characters in all')
  if (typeof requestId !== 'string' || requestId.length > MAX_ID_CHARS) {
    throw invalid(`requestId ${shown(requestId)}; expected up to ${MAX_ID_CHARS} characters`)
  }
  return { rule, key, scope: '', requestId, args }
}
