/**
 * When an accepted command counts as acknowledged.
 *
 *     memory    the primary has it
 *     replica   and a replica: a marker and WAIT, on a connection of their own, because WAIT blocks the one that it is sent on
 *     aof       the append-only file of the primary has it: WAITAOF
 *
 * One round of marker and WAIT confirms all decisions that came before it; those that come while it runs share the next.
 * A marker, because WAIT compares replicas with the last write of its own connection.
 */
import { FreshetError } from './errors.js'

/** of the marker */
const EXPIRE_MS = 60_000

/** @type {Readonly<Record<string, ((ms: number) => (string | number)[]) | null>>} */
const WAITS = Object.freeze({
  memory: null,
  replica: (ms) => ['WAIT', 1, ms],
  aof: (ms) => ['WAITAOF', 1, 0, ms]
})

/**
 * @param {{ connection: () => Promise<import('../store/index.js').Connection>, marker: string, durability: string,
 *   waitMs: number }} options `connection` to the primary, for this only; `marker`: a key of the partition
 * @returns {() => Promise<void>} resolves when what was decided before is confirmed @throws {FreshetError} NOT_CONFIRMED
 */
export function createConfirm ({ connection, marker, durability, waitMs }) {
  const wait = WAITS[durability]
  if (!wait) return async () => {}
  /** @type {Promise<void> | null} */
  let next = null
  /** @type {Promise<unknown>} */
  let running = Promise.resolve()
  let n = 0

  const round = async () => {
    const [, reply] = await (await connection()).sendAll([['SET', marker, ++n, 'PX', EXPIRE_MS], wait(waitMs)])
    const confirmed = Number(Array.isArray(reply) ? reply[0] : reply)
    if (confirmed < 1) {
      throw new FreshetError('NOT_CONFIRMED', `decided, but not confirmed (${durability}) within ${waitMs} ms; repeat it with the same ` +
        'Idempotency-Key to learn the decision')
    }
  }

  return () => {
    next ??= running.then(() => {
      next = null
      const result = round()
      running = result.catch(() => {})
      return result
    })
    return next
  }
}

/**
 * @param {import('../store/index.js').Connection} connection to the primary @param {string} durability
 * @throws {FreshetError} DURABILITY_UNSUPPORTED
 */
export async function expectDurability (connection, durability) {
  if (durability !== 'aof') return
  const [info, [known]] = await connection.sendAll([['INFO', 'persistence'], ['COMMAND', 'INFO', 'WAITAOF']])
  const isOn = /^aof_enabled:1/m.test(String(info))
  if (isOn && known !== null) return
  const missing = isOn ? 'does not know WAITAOF' : 'has no append-only file (appendonly no)'
  throw new FreshetError('DURABILITY_UNSUPPORTED', `the server at ${connection.address} ${missing}, so --durability aof cannot work; ` +
    'turn it on, or use --durability replica or memory')
}
