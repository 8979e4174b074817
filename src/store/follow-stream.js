/**
 * Reads a stream from a position on, session after session (stream-follower.js), and hands its entries over, batch by batch. The next batch
 * is read when the last one has been taken.
 *
 * @typedef {import('./stream-line.js').StreamConnection} StreamConnection
 * @typedef {[unknown, unknown[]][]} RawEntries id, fields; valid until `take` first waits
 * @typedef {(signal: AbortSignal, key: string) => Promise<{ connection: StreamConnection, isLeft?: () => boolean, taken?: () => void,
 *   end: (refusal: Error | null) => void }>} OpenStream
 */
import { runSessions } from './back-off.js'

/** Between two checks while there are entries. */
const CHECK_MS = 100
/** Without entries: a decision that changes what is checked adds one, and a node that is promoted or left ends the session. */
const IDLE_CHECK_MS = 1000
/** After a longer pause of this process a session that is checked ends, since streams are trimmed. */
const MAX_PAUSE_MS = 10_000

/**
 * @param {OpenStream} open
 * @param {{ key: () => Promise<string> | string, count: number, blockMs: number, signal: AbortSignal, firstWaitMs: number,
 *   begin: (connection: StreamConnection) => Promise<string> | string,
 *   take: (entries: RawEntries, read: { sentMs: number, isWhole: boolean }) => Promise<unknown> | void,
 *   check?: (connection: StreamConnection) => Promise<boolean>, ended?: () => void,
 *   failed: (error: Error & { code?: string }) => void }} parts `begin`: the position of a session; `take`: also without entries,
 *   `isWhole`: there were no more when it was sent, performance.now(); a text that it resolves with is the position to go on from;
 *   `check`: false ends the session; `ended`: after each session
 * @returns {Promise<void>} once `signal` is aborted
 */
export function followStream (open, parts) {
  const { signal, firstWaitMs, begin, take, check, ended = () => {}, failed } = parts

  return runSessions(async () => {
    /** @type {Awaited<ReturnType<OpenStream>> | null} */
    let session = null
    try {
      const key = await parts.key()
      session = await open(signal, key)
      const { connection } = session
      let position = await begin(connection)
      let checkedMs = performance.now()
      let hasNew = false
      while (!signal.aborted && !session.isLeft?.()) {
        const sentMs = performance.now()
        const entries = await readOnce(connection, key, position, parts)
        if (signal.aborted) break
        const isWhole = entries.length < parts.count
        if (entries.length > 0) {
          position = String(entries[entries.length - 1][0])
          hasNew = true
        }
        const taking = take(entries, { sentMs, isWhole })
        session.taken?.()
        const moved = await taking
        if (typeof moved === 'string') position = moved
        if (check === undefined) continue
        const nowMs = performance.now()
        if (nowMs - checkedMs > MAX_PAUSE_MS) break
        if (nowMs - checkedMs < (hasNew ? CHECK_MS : IDLE_CHECK_MS)) continue
        checkedMs = nowMs
        hasNew = false
        if (!await check(connection)) break
      }
      return 'used'
    } catch (error) {
      if (!signal.aborted) failed(error)
      return error.retryable ? 'unused' : 'refused'
    } finally {
      ended()
      session?.end(null)
    }
  }, { firstWaitMs, signal })
}

/**
 * @param {StreamConnection} connection @param {string} key @param {string} position
 * @param {{ count: number, blockMs: number }} options @returns {Promise<RawEntries>}
 */
async function readOnce (connection, key, position, { count, blockMs }) {
  const reply = await connection.send('XREAD', 'COUNT', count, 'BLOCK', blockMs, 'STREAMS', key, position)
  return reply === null ? [] : reply[0][1]
}
