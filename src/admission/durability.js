/**
 * When an accepted command counts as acknowledged.
 *
 *     memory    the primary has it
 *     replica   and a replica: a marker and WAIT, on a connection of their own, because WAIT blocks the one that it is sent on
 *     2, 3 ..   and so many replicas
 *     aof       the append-only file of the primary has it: WAITAOF
 *
 * One round of marker and WAIT confirms all decisions of a primary that came before it, in whatever partition; those that come while it
 * runs share the next. A marker, because WAIT compares replicas with the last write of its own connection.
 *
 * After a failover the connection may lead to a primary that never had the decision. So a round also reads whose the generation is, and
 * confirms only decisions of the lineage that this primary began (admit.lua); and whether it has an entry of the outbox, if that is asked.
 *
 * @typedef {ReturnType<typeof createConfirm>} Confirm
 */
import { setTimeout as pause } from 'node:timers/promises'
import { expectReplicas, replicasOf } from '../store/index.js'
import { FreshetError } from './errors.js'

/** The marker expires after this time. */
const EXPIRE_MS = 60_000
/** Pause before a connection that was lost is asked for again. */
const RETRY_MS = 50

/** What waits for the copies of a level, and their number; null = the primary is enough. @param {string} level @param {number} ms */
function waitOf (level, ms) {
  if (level === 'aof') return { copies: 1, command: ['WAITAOF', 1, 0, ms] }
  const copies = replicasOf(level)
  return copies > 0 ? { copies, command: ['WAIT', copies, ms] } : null
}

/** @typedef {(part: string) => string} KeyOf a part of a partition */

/**
 * @typedef {{ key: KeyOf, entry?: string }} Asked `entry`: id in the outbox
 * @typedef {[generation: unknown[], entries?: unknown[]]} Found id and lineage in the generation, and the entry, if the primary has it
 */

/** @param {Asked} asked */
const readsOf = ({ key, entry }) => [
  ['HMGET', key('generation'), 'replid', 'lineage'], ...entry === undefined ? [] : [['XRANGE', key('outbox'), entry, entry]]
]

/**
 * Rounds, by connection: one at a time.
 * @param {{ marker: string, durability: string, waitMs: number }} options
 * @returns {(connection: import('../store/index.js').Connection, asked: Asked) => Promise<Found>} once what its primary had before is
 *   confirmed @throws {FreshetError} NOT_CONFIRMED, and what Connection.send throws
 */
function createRounds ({ marker, durability, waitMs }) {
  const { copies, command } = /** @type {NonNullable<ReturnType<typeof waitOf>>} */ (waitOf(durability, waitMs))
  /** @typedef {Map<string, Asked>} Round what is asked once, by generation and entry */
  /** @type {WeakMap<object, { running: Promise<unknown>, next: { round: Round, answers: Promise<Map<string, Found>> } | null }>} */
  const lines = new WeakMap()
  let n = 0

  /** @param {import('../store/index.js').Connection} connection @param {Round} round */
  async function run (connection, round) {
    const all = [...round].map(([name, asked]) => ({ name, reads: readsOf(asked) }))
    const [first] = round.values()
    const [, reply, ...replies] = await connection.sendAll([
      ['SET', first.key(marker), ++n, 'PX', EXPIRE_MS], command, ...all.flatMap(({ reads }) => reads)
    ])
    const confirmed = Number(Array.isArray(reply) ? reply[0] : reply)
    if (confirmed < copies) throw notConfirmed(`(${shownLevel(durability)}) within ${waitMs} ms`)
    return new Map(all.map(({ name, reads }) => [name, /** @type {Found} */ (replies.splice(0, reads.length))]))
  }

  return async (connection, asked) => {
    const line = lines.get(connection) ?? { running: Promise.resolve(), next: null }
    lines.set(connection, line)
    if (line.next === null) {
      /** @type {Round} */
      const round = new Map()
      const answers = line.running.then(() => {
        line.next = null
        const result = run(connection, round)
        line.running = result.catch(() => {})
        return result
      })
      line.next = { round, answers }
    }
    const { round, answers } = line.next
    const name = `${asked.key('generation')} ${asked.entry ?? ''}`
    round.set(name, asked)
    return /** @type {Found} */ ((await answers).get(name))
  }
}

/**
 * @param {{ route: () => { connection: import('../store/index.js').Connection, replicationId: string }, key: (part: string) => string,
 *   marker: string, durability: string, waitMs: number, isClosed?: () => boolean,
 *   rounds?: ReturnType<typeof createRounds> }} options `route`: the present connection to the primary, for this only; `key`: of a part of
 *   the partition; `marker`: part that no other process writes; `isClosed`: no connection will open again; `rounds` of several partitions
 * @returns {(generation?: string, entry?: string) => Promise<string | undefined>} resolves when what was decided in this generation before
 *   is confirmed (without one: what the present primary has); while there is no connection it waits for one, at most `waitMs`. With `entry`
 *   of the outbox, the lineage of that primary; empty if it has no such entry
 *   It throws NOT_CONFIRMED, and what Connection.send throws
 */
export function createConfirm ({ route, key, marker, durability, waitMs, isClosed = () => false, rounds }) {
  const isWaited = waitOf(durability, waitMs) !== null
  const confirmed = isWaited ? rounds ?? createRounds({ marker, durability, waitMs }) : readNow

  /** @param {string} [entry] @returns {Promise<string>} the lineage of which all decisions are confirmed */
  const round = async (entry) => {
    const { connection, replicationId } = route()
    const [[owner, lineage], entries] = await confirmed(connection, { key, entry })
    // what a promoted primary has in its outbox is of the lineage that it has stored, also before it begins one of its own
    const isIts = entries === undefined ? String(owner) === replicationId : entries.length > 0
    return isIts ? String(lineage) : ''
  }

  /** @param {string} [entry] */
  async function retriedRound (entry) {
    const endMs = performance.now() + waitMs
    for (;;) {
      try {
        return await round(entry)
      } catch (error) {
        const mayPass = ['SERVER_LOST', 'SERVER_UNREACHABLE'].includes(error.code) && performance.now() + RETRY_MS <= endMs
        if (!mayPass || isClosed()) throw error
        await pause(RETRY_MS)
      }
    }
  }

  return async (generation, entry) => {
    if (!isWaited && entry === undefined) return
    const lineage = await retriedRound(entry)
    if (generation !== undefined && generation.split('.')[0] !== lineage) {
      throw notConfirmed('by the primary that decided it: another one has taken over')
    }
    if (entry !== undefined) return lineage
  }
}

/**
 * What the primary has is enough.
 * @param {import('../store/index.js').Connection} connection @param {Asked} asked @returns {Promise<Found>}
 */
const readNow = async (connection, asked) => /** @type {Found} */ (await connection.sendAll(readsOf(asked)))

/** @param {string} level */
const shownLevel = (level) => replicasOf(level) > 1 ? `${level} replicas` : level

const notConfirmed = (/** @type {string} */ how) =>
  new FreshetError('NOT_CONFIRMED', `decided, but not confirmed ${how}; repeat it with the same Idempotency-Key to learn the decision`)

/**
 * What confirms the decisions of a system.
 * @param {{ servers: Pick<import('../store/index.js').Servers, 'primaries'>, name: string,
 *   keyOf: (partition: number) => (part: string) => string, partitions: number,
 *   durability: string, deadlineMs: number, waitMs: number, routes?: import('../store/index.js').Primaries }} options `name`: of the
 *   connections; `routes`: where the primary is enough
 */
export function openConfirms ({ servers, name, keyOf, partitions, durability, deadlineMs, waitMs, routes }) {
  const separate = waitOf(durability, waitMs) ? servers.primaries({ name, deadlineMs: deadlineMs + waitMs }) : null
  let isClosed = false
  const of = { marker: `marker:${process.pid}`, durability, waitMs }
  const rounds = separate ? createRounds(of) : undefined
  const all = Array.from({ length: partitions }, (_, partition) => createConfirm({
    ...of,
    route: () => /** @type {import('../store/index.js').Primaries} */ (separate ?? routes).route(keyOf(partition)('')),
    key: keyOf(partition),
    isClosed: () => isClosed,
    rounds
  }))
  return {
    /** @param {number} partition */
    of: (partition) => all[partition],

    async close () {
      isClosed = true
      await separate?.close()
    }
  }
}

/**
 * @param {import('../store/index.js').Connection} connection to the primary @param {string | null} durability
 * @throws {FreshetError} DURABILITY_UNSUPPORTED, REPLICAS_TOO_FEW
 */
export async function expectDurability (connection, durability) {
  if (durability !== 'aof') return expectReplicas([connection], durability ?? 'memory', 'durability')
  const [info, [commandInfo]] = await connection.sendAll([['INFO', 'persistence'], ['COMMAND', 'INFO', 'WAITAOF']])
  const isOn = /^aof_enabled:1/m.test(String(info))
  if (isOn && commandInfo !== null) return
  const missing = isOn ? 'does not know WAITAOF' : 'has no append-only file (appendonly no)'
  throw new FreshetError('DURABILITY_UNSUPPORTED', `the server at ${connection.address} ${missing}, so --durability aof cannot work; ` +
    'turn it on, or use --durability replica or memory')
}
