/** The TCP or TLS socket under a connection. */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** a server closes after it */
export const PROTOCOL_ERROR = 'ERR Protocol error'

/**
 * @typedef {object} Wire the socket, and how replies on it are read (client-replies.js, log-replies.js)
 * @property {import('node:net').Socket} socket
 * @property {Promise<unknown>} opened resolves when commands can be sent
 * @property {string | null} protocolError why the server closes, in its words
 * @property {(bytes: Buffer, taker: import('./replies.js').Taker, options?: { isLent?: boolean }) => void} send writes commands;
 *   `taker` gets their replies; `isLent`: the strings of the reply may be overwritten later
 *
 * @typedef {{ host: string, port: number, tls: import('node:tls').ConnectionOptions | null }} Where
 * @typedef {{ onBytes: (replies: number, partBytes: number) => void, onFault: (error: Error) => void, onUnusable: () => void,
 *   isHeld?: () => boolean }} Listeners
 *   `onBytes`: bytes arrived, with so many whole replies; the next one has `partBytes` so far; `onFault`: what arrived is not a reply
 *   to a command; `onUnusable`: a command could not be written;
 *   `isHeld`: as openConnection
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

/**
 * What is written in one turn of the event loop leaves in one write.
 * @param {import('node:net').Socket} socket
 */
export function gatherWrites (socket) {
  let isGathering = false
  const release = () => {
    if (!isGathering) return
    isGathering = false
    socket.uncork()
  }
  return {
    /** To be called before something is written. */
    gather () {
      if (isGathering) return
      isGathering = true
      socket.cork()
      process.nextTick(release)
    },

    /** Does not wait for the end of the turn. */
    release
  }
}

export const unasked = () => new Error('the server sent a reply to no command')
