/** The TCP or TLS socket under a connection. */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

/**
 * @typedef {object} Wire the socket, and how replies on it are read (client-replies.js, log-replies.js)
 * @property {import('node:net').Socket} socket
 * @property {Promise<unknown>} opened resolves when commands can be sent
 * @property {(bytes: Buffer, taker: import('./replies.js').Taker, options?: { isLent?: boolean }) => void} send writes commands;
 *   `taker` gets their replies; `isLent`: the strings of the reply may be overwritten later
 *
 * @typedef {{ host: string, port: number, tls: import('node:tls').ConnectionOptions | null }} Where
 * @typedef {{ onBytes: () => void, onFault: (error: Error) => void }} Listeners `onBytes`: something arrived; `onFault`: what
 *   arrived is not RESP2
 */

/**
 * @param {Where} where
 * @param {import('node:net').OnReadOpts} [onread] for a plain socket
 * @returns {import('node:net').Socket}
 */
export function openSocket ({ host, port, tls }, onread) {
  const options = { host, port, noDelay: true }
  return tls ? connectTls({ ...options, ...tls }) : connect({ ...options, onread })
}
