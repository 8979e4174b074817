/**
 * What a server says about our certificate. With TLS 1.3 it looks at that after we count the handshake as done, and what we
 * have sent by then makes its system reset the connection; the reset may come before its word is read. Asked once more,
 * with nothing sent behind the handshake, it is heard.
 */
import { connect } from 'node:tls'
import { isNoTls, untrustedBecause } from './tls.js'

/** it follows the handshake at once; a server that has nothing to say keeps the connection open */
const WAIT_MS = 1000

/**
 * @param {Error} cause what ended a connection before anything was heard
 * @param {import('node:tls').ConnectionOptions} options of tls.connect, host and port among them
 * @param {{ leftMs: number, signal?: AbortSignal }} wait `leftMs`: no longer than so
 * @returns {Promise<Error | null>} what tls.js has words for; null = `cause` says it already, or the server does not blame a certificate
 */
export const askForAlert = (cause, options, { leftMs, signal }) => new Promise((resolve) => {
  if (untrustedBecause(cause) || isNoTls(cause)) return resolve(null)
  const socket = connect(options)
  const settle = (/** @type {Error | null} */ error) => {
    clearTimeout(timer)
    signal?.removeEventListener('abort', giveUp)
    socket.destroy()
    resolve(error && untrustedBecause(error) ? error : null)
  }
  const giveUp = () => settle(null)
  const timer = setTimeout(giveUp, Math.max(0, Math.min(leftMs, WAIT_MS)))
  signal?.addEventListener('abort', giveUp, { once: true })
  if (signal?.aborted) giveUp()
  // whatever comes now is read, so that the end is seen
  socket.resume().on('error', settle).once('close', giveUp)
})
