/**
 * The part of HTTP/1.1 that both clients share: a socket that reads into one reused buffer, and the head of a response. A
 * client that costs more than the server would measure itself.
 */
import { connect } from 'node:net'

const READ_BYTES = 64 * 1024
const MAX_HEAD_BYTES = 16 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')
/** of `HTTP/1.1 200 OK` */
const STATUS_AT = 9

/**
 * @param {URL} url
 * @param {object} on
 * @param {() => void} on.connect
 * @param {(bytes: Buffer) => void} on.bytes a view of the reused buffer; what it throws closes the socket
 * @param {(fault: string | null) => void} on.close null: it closed without an error
 */
export function openSocket ({ hostname, port }, on) {
  /** @type {string | null} */
  let fault = null
  const socket = connect({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 80),
    onread: {
      buffer: Buffer.allocUnsafe(READ_BYTES),
      callback: (n, buffer) => {
        try {
          on.bytes(Buffer.from(buffer.buffer, buffer.byteOffset, n))
        } catch ({ message }) {
          fault = message
          socket.destroy()
        }
        return true
      }
    }
  })
  socket.setNoDelay(true)
  socket.once('connect', on.connect)
  socket.once('error', ({ message }) => { fault ??= message })
  socket.once('close', () => on.close(fault))
  return socket
}

/**
 * @returns {(bytes: Buffer) => { status: number, text: string, rest: Buffer } | null} takes bytes until the head is complete;
 *   `rest`: the bytes after it
 */
export function createHeadReader () {
  /** @type {Buffer | null} */
  let partial = null
  return (bytes) => {
    const all = partial ? Buffer.concat([partial, bytes]) : bytes
    const end = all.indexOf(HEAD_END)
    if (end < 0) {
      if (all.length > MAX_HEAD_BYTES) throw new Error(`the head of a response exceeds ${MAX_HEAD_BYTES} bytes`)
      partial = Buffer.from(all)
      return null
    }
    partial = null
    const text = all.toString('latin1', 0, end)
    return { status: Number(text.slice(STATUS_AT, STATUS_AT + 3)), text, rest: all.subarray(end + HEAD_END.length) }
  }
}
