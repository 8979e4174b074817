/**
 * When an accepted command counts as acknowledged.
 *
 *     memory    the primary has it
 *     replica   and a replica: a marker and WAIT, on a connection of their own, because WAIT blocks the one that it is sent on
 *     2, 3 ..   and so many replicas
 *     aof       the append-only file of the primary has it: WAITAOF
 *
 * One round of marker and WAIT confirms all decisions that came before it; those that come while it runs share the next.
 * A marker, because WAIT compares replicas with the last write of its own connection.
 *
 * After a failover the connection may lead to a primary that never had the decision. So a round also reads whose the generation is, and
 * confirms only decisions of the lineage that this primary began (admit.lua).
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

/**
 * @param {{ route: () => { connection: import('../store/index.js').Connection, replicationId: string }, key: (part: string) => string,
 *   marker: string, durability: string, waitMs: number, isClosed?: () => boolean }} options `route`: the present connection to the
 *   primary, for this only; `key`: of a part of the partition; `marker`: part that no other process writes; `isClosed`: no connection
 *   will open again
 * @returns {(generation?: string) => Promise<void>} resolves when what was decided in this generation before is confirmed (without one:
 *   what the present primary has); while there is no connection it waits for one, at most `waitMs`
 *   It throws NOT_CONFIRMED, and what Connection.send throws
 */
export function createConfirm ({ route, key, marker, durability, waitMs, isClosed = () => false }) {
  const wait = waitOf(durability, waitMs)
  if (!wait) return async () => {}
  /** @type {Promise<string> | null} */
  let next = null
  /** @type {Promise<unknown>} */
  let running = Promise.resolve()
  let n = 0

  /** @returns {Promise<string>} the lineage of which all decisions are confirmed */
  const round = async () => {
    const { connection, replicationId } = route()
    const [, reply, [owner, lineage]] = await connection.sendAll([
      ['SET', key(marker), ++n, 'PX', EXPIRE_MS], wait.command, ['HMGET', key('generation'), 'replid', 'lineage']
    ])
    const confirmed = Number(Array.isArray(reply) ? reply[0] : reply)
    if (confirmed < wait.copies) throw notConfirmed(`(${shownLevel(durability)}) within ${waitMs} ms`)
    return String(owner) === replicationId ? String(lineage) : ''
  }

  async function retriedRound () {
    const endMs = performance.now() + waitMs
    for (;;) {
      try {
        return await round()
      } catch (error) {
        const mayPass = ['SERVER_LOST', 'SERVER_UNREACHABLE'].includes(error.code) && performance.now() + RETRY_MS <= endMs
        if (!mayPass || isClosed()) throw error
        await pause(RETRY_MS)
      }
    }
  }

  return async (generation) => {
    next ??= running.then(() => {
      next = null
      const result = retriedRound()
      running = result.catch(() => {})
      return result
    })
    const lineage = await next
    if (generation !== undefined && generation.split('.')[0] !== lineage) {
      throw notConfirmed('by the primary that decided it: another one has taken over')
    }
  }
}

/** @param {string} level */
const shownLevel = (level) => replicasOf(level) > 1 ? `${level} replicas` : level

const notConfirmed = (/** @type {string} */ how) =>
  new FreshetError('NOT_CONFIRMED', `decided, but not confirmed ${how}; repeat it with the same Idempotency-Key to learn the decision`)

/**
 * What confirms the decisions of a system.
 * @param {{ servers: Pick<import('../store/index.js').Servers, 'primaries'>, name: string,
 *   keyOf: (partition: number) => (part: string) => string, partitions: number,
 *   durability: string, deadlineMs: number, waitMs: number }} options `name`: of the connections
 */
export function openConfirms ({ servers, name, keyOf, partitions, durability, deadlineMs, waitMs }) {
  const routes = waitOf(durability, waitMs) ? servers.primaries({ name, deadlineMs: deadlineMs + waitMs }) : null
  let isClosed = false
  const all = Array.from({ length: partitions }, (_, partition) => createConfirm({
    route: () => /** @type {import('../store/index.js').Primaries} */ (routes).route(keyOf(partition)('')),
    key: keyOf(partition),
    marker: `marker:${process.pid}`,
    durability,
    waitMs,
    isClosed: () => isClosed
  }))
  return {
    /** @param {number} partition */
    of: (partition) => all[partition],

    async close () {
      isClosed = true
      await routes?.close()
    }
  }
}

/**
 * @param {import('../store/index.js').Connection} connection to the primary @param {string | null} durability
 * @throws {FreshetError} DURABILITY_UNSUPPORTED, REPLICAS_TOO_FEW
 */
export async function expectDurability (connection, durability) {
  if (durability !== 'aof') return expectReplicas([connection], durability ?? 'memory', 'durability')
  const [info, [known]] = await connection.sendAll([['INFO', 'persistence'], ['COMMAND', 'INFO', 'WAITAOF']])
  const isOn = /^aof_enabled:1/m.test(String(info))
  if (isOn && known !== null) return
  const missing = isOn ? 'does not know WAITAOF' : 'has no append-only file (appendonly no)'
  throw new FreshetError('DURABILITY_UNSUPPORTED', `the server at ${connection.address} ${missing}, so --durability aof cannot work; ` +
    'turn it on, or use --durability replica or memory')
}
