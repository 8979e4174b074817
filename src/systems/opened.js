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
import { eventOf, eventsOf, expectDurability, followOutboxes, generationOf, oursIn, readState } from '../admission/index.js'
import { FreshetError, kindOf } from '../errors.js'
import { createServers } from '../store/index.js'
import { closeInTime, createFrame, GRACE_MS } from './frame.js'
import { commandOf, expectKey, invalid } from './decisions.js'
import { createConsumers } from './consuming.js'
import { openDefinition } from './opening.js'
import { UNCOUNTED } from './queries.js'
import { createEventWaits } from './reading.js'

let opened = 0

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

    async submit (input) {
      const command = commandOf(input, rules)
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
 * As opening.js does for rules with Lua.
 * @param {OpenAdmission['routes']} routes @param {string} durability
 * @throws {FreshetError} DURABILITY_UNSUPPORTED, and why the primary cannot be used
 */
async function expectPrimaries (routes, durability) {
  await routes.opened
  for (const connection of routes.connections) await expectDurability(connection, durability)
}

/** @type {Record<string, 'full' | 'late'>} */
const UNSENT = { ADMISSION_FULL: 'full', ADMISSION_LATE: 'late', ADMISSION_BACKLOG: 'full' }
const NOT_COUNTED = ['ARGUMENT_INVALID', 'PIPELINE_CLOSED', 'REQUEST_DIFFERS', 'RULE_DIFFERS']

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
 * Rules with Lua fail by themselves (admission/own-rules.js).
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

/**
 * Events of a key as they come. One connection follows the outboxes of the system and wakes the followers of a key, which then read its
 * event stream from where they are. So what a follower missed while the server was away is read like everything else.
 *
 * @import { Connection } from '../store/index.js'
 * @import { Event } from './definition.js'
 */

const COUNT = 500
const LOOK_EVERY_MS = 1000

/** @param {OpenAdmission['target']} target @param {AbortSignal} closing */
function createFollowing (target, closing) {
  const { streams, partitions, partitionOf, keyOf, connectionOf, names } = target
  const waits = createEventWaits()
  /** Followers by partition, and what ends the following of its outbox. */
  const followed = Array.from({ length: partitions }, () => ({ count: 0, leave () {} }))
  /** @type {ReturnType<typeof followOutboxes> | null} */
  let outbox = null

  function open () {
    return followOutboxes({
      ...streams,
      ...target,
      isOnDemand: true,
      onEntry: (_, { key }) => waits.note(key),
      onReset: waits.noteAll
    })
  }

  const readNow = async (/** @type {string} */ key, /** @type {number} */ after) =>
    read(connectionOf(partitionOf(key)), keyOf(partitionOf(key)), key, after, names)

  return {
    /** @param {string} key @param {{ after?: number, signal?: AbortSignal }} [options] */
    async * follow (key, { after = 0, signal } = {}) {
      if (!Number.isSafeInteger(after) || after < 0) {
        throw invalid(`after ${after}; expected a sequence number: an integer of 0 or more`)
      }
      const ended = signal ? AbortSignal.any([closing, signal]) : closing
      if (ended.aborted) return
      const partition = partitionOf(key)
      const watching = waits.watching(key, ended)
      outbox ??= open()
      const subscription = followed[partition]
      if (subscription.count++ === 0) subscription.leave = outbox.follow(partition)
      let position = after
      /** @type {string | null} */
      let generation = null
      try {
        while (!ended.aborted) {
          const page = await readNow(key, position).catch((error) => {
            if (!error.retryable) throw error
            return null
          })
          if (ended.aborted) return
          if (page && generation !== null && page.generation !== generation) throw changed(key, `${page.generation}, not ${generation}`)
          if (page && (page.generation !== '' || position > 0)) generation = page.generation
          for (const event of page?.events ?? []) {
            if (ended.aborted) return
            position = event.seq
            yield event
          }
          if (page?.events.length === COUNT) continue
          // an outbox that is not followed yet wakes no one
          await watching.changed(LOOK_EVERY_MS)
        }
      } finally {
        watching.end()
        if (--subscription.count === 0) subscription.leave()
      }
    },

    close: async () => { await outbox?.close() }
  }
}

/**
 * What came after a sequence number.
 * @param {Connection} connection to the primary @param {(part: string) => string} part of the partition
 * @param {string} key @param {number} after @param {import('../admission/index.js').RuleFolds['names']} names
 * @returns {Promise<{ events: Event[], generation: string }>} @throws {FreshetError} EVENTS_TRIMMED, GENERATION_CHANGED
 */
async function read (connection, part, key, after, names) {
  const [seq, entries, generation] = await connection.sendAll([
    ['HGET', part(`state:${key}`), names.seq],
    ['XRANGE', part(`events:${key}`), `(${after}-0`, '+', 'COUNT', COUNT],
    ['HMGET', part('generation'), 'lineage', 'n']
  ])
  const events = eventsOf(entries).map(eventOf)
  const firstSeq = events[0]?.seq ?? Number(seq) + 1
  if (after > Number(seq) && events.length === 0) throw changed(key, `its last event is ${Number(seq)}, and not ${after} or later`)
  if (firstSeq > after + 1) {
    const stored = await readState(connection, part, key, names)
    throw new FreshetError('EVENTS_TRIMMED', `events of ${key} after ${after} are no longer kept, the first one is ${firstSeq}; go on ` +
      'from the state of this error', { firstSeq, state: stored?.state ?? {}, seq: stored?.seq ?? 0, generation: stored?.generation })
  }
  return { events, generation: generationOf(generation) }
}

/** @param {string} key @param {string} why */
const changed = (key, why) => new FreshetError('GENERATION_CHANGED', `${key} has another generation: ${why}; read the key again`)
