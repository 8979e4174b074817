/**
 * The socket under a connection, plain or TLS. The client is handed it with one thing changed: every run of bytes that
 * arrives goes through `accept` first, and when that refuses, the client's parser does not see them.
 */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { AbstractConnector } from 'ioredis'

/** an orderly end gets so long */
const END_MS = 1

/**
 * @param {{ host: string, port: number, tls: import('node:tls').ConnectionOptions | null, onReached: () => void, accept: (bytes: Buffer) => void }} options
 *   `onReached`: something listens there; `accept` throws what ends the connection
 * @returns {any} what the client takes as its option Connector
 */
export const connectorTo = ({ host, port, tls, onReached, accept }) => class extends AbstractConnector {
  constructor () {
    super(END_MS)
  }

  async connect () {
    this.connecting = true
    const socket = tls ? connectTls({ host, port, ...tls }) : connect({ host, port })
    socket.once('connect', onReached)
    socket.once('error', (error) => { this.firstError = error })
    const { emit } = socket
    socket.emit = (/** @type {any} */ event, /** @type {any[]} */ ...args) => {
      if (event === 'data') {
        try {
          accept(args[0])
        } catch (error) {
          socket.destroy(/** @type {Error} */ (error))
          return true
        }
      }
      return emit.apply(socket, /** @type {any} */ ([event, ...args]))
    }
    this.stream = socket
    return socket
  }
}
