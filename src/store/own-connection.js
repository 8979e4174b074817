/**
 * A connection of somebody's own to a server, for questions that wait there: one epoch, opened in its turn. A server that
 * refuses is asked once a second by all connections of this process together (refusal-gate.js), these among them; and what
 * they are for counts, too: one that may log in and not read is refused.
 */
import { openConnection } from './connection.js'
import { openLogConnection } from './log-connection.js'
import { gateTo } from './refusal-gate.js'

const LOOK_MS = 50
/** one that was not refused for so long is let in, even if it has not been answered */
const LET_IN_MS = 1000

/**
 * @param {string} url as in connection.js
 * @param {{ name: string, deadlineMs: number, isForLog: boolean, signal: AbortSignal, onRefused: (refusal: Error) => void,
 *   isInVain: () => boolean }} options `onRefused` is told why it has to wait; waiting ends with `signal`, or when it is in vain
 * @returns null: it was not waited for any longer
 * @throws {import('../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED
 */
export async function openOwnConnection (url, { name, deadlineMs, isForLog, signal, onRefused, isInVain }) {
  const attempt = await inTurn(url, { signal, onRefused, isInVain })
  if (attempt === null) return null
  try {
    const open = isForLog ? openLogConnection : openConnection
    const connection = /** @type {import('./connection.js').Connection} */ (await open(url, { name, deadlineMs }))
    const letIn = setTimeout(attempt.opened, LET_IN_MS)
    return {
      connection,
      /** What it is for was answered. */
      answered: attempt.opened,
      /** Closes it. @param {Error | null} refusal what this user may not do, if that is why */
      end (refusal) {
        clearTimeout(letIn)
        connection.close()
        attempt.ended(refusal)
      }
    }
  } catch (error) {
    attempt.ended(error.retryable ? null : error)
    throw error
  }
}

/** @param {string} url @param {Pick<Parameters<typeof openOwnConnection>[1], 'signal' | 'onRefused' | 'isInVain'>} options */
async function inTurn (url, { signal, onRefused, isInVain }) {
  const gate = gateTo(url)
  const { refusal } = gate
  if (refusal) onRefused(refusal)
  const leaving = new AbortController()
  const leave = () => leaving.abort()
  const look = setInterval(() => { if (refusal && isInVain()) leave() }, LOOK_MS)
  signal.addEventListener('abort', leave, { once: true })
  if (signal.aborted) leave()
  try {
    const attempt = await gate.enter(leaving.signal, 'views')
    if (!leaving.signal.aborted) return attempt
    attempt.ended()
    return null
  } finally {
    clearInterval(look)
    signal.removeEventListener('abort', leave)
  }
}
