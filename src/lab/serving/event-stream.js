/**
 * One stream of server-sent events, read as cheaply as can be: HTTP/1.1, chunked, into one buffer that is used again. It tells
 * one event from the next and nothing more; who wants to know what is in it reads it (readEvent). A client that costs more
 * than the server that pushes measures itself.
 *
 *     socket -> head -> chunks: size, bytes, end of line -> events: up to an empty line
 *
 * It is asked for once; a stream that ends is not opened again.
 */
import { connect } from 'node:net'

const READ_BYTES = 64 * 1024
const MOST_HEAD_BYTES = 16 * 1024
const HEAD_END = Buffer.from('\r\n\r\n')
const EVENT_END = Buffer.from('\n\n')
const LF = 10
/** of `HTTP/1.1 200 OK` */
const STATUS_AT = 9

/** @typedef {{ event: string, data: string | null, id: string | null }} ReadEvent `data` null: nobody is told of it */

/**
 * @param {string} url
 * @param {object} on
 * @param {(status: number) => void} on.status the head is there
 * @param {(event: Buffer) => void} on.event whole, with its empty line; the bytes are those of another after it returns
 * @param {(why: string) => void} on.end once, unless it was closed from here
 */
export function openStream (url, on) {
  const { hostname, port, pathname, search, host } = new URL(url)
  const read = Buffer.allocUnsafe(READ_BYTES)
  const events = createSplitter(on.event)
  const dechunk = createDechunker(events)
  let isDone = false
  /** @type {Buffer | null} null: it was read */
  let head = Buffer.alloc(0)
  let why = 'the connection was closed'

  /** @param {Buffer} bytes */
  function take (bytes) {
    if (head === null) return dechunk(bytes)
    head = Buffer.concat([head, bytes])
    const end = head.indexOf(HEAD_END)
    if (end < 0) {
      if (head.length > MOST_HEAD_BYTES) throw new Error('no end of a head')
      return
    }
    const text = head.toString('latin1', 0, end)
    const rest = head.subarray(end + HEAD_END.length)
    const status = Number(text.slice(STATUS_AT, STATUS_AT + 3))
    head = null
    on.status(status)
    if (status !== 200) throw new Error(`status ${status}: ${rest.toString('utf8', 0, 200)}`)
    if (!/\r\ntransfer-encoding: *chunked/i.test(text)) throw new Error('a stream that is not chunked')
    dechunk(rest)
  }

  const socket = connect({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || 80),
    onread: {
      buffer: read,
      callback: (n, buffer) => {
        try {
          if (!isDone) take(Buffer.from(buffer.buffer, buffer.byteOffset, n))
        } catch ({ message }) {
          why = message
          socket.destroy()
        }
        return true
      }
    }
  })
  socket.setNoDelay(true)
  socket.once('connect', () => socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: ${host}\r\naccept: text/event-stream\r\n\r\n`))
  socket.once('error', ({ message }) => { why = message })
  socket.once('close', () => {
    if (isDone) return
    isDone = true
    on.end(why)
  })

  return {
    close () {
      isDone = true
      socket.destroy()
    }
  }
}

/**
 * @param {(bytes: Buffer) => void} onBytes
 * @returns {(bytes: Buffer) => void} throws when it is no chunked body, or its end
 */
export function createDechunker (onBytes) {
  /** of a chunk; -1 = its size is read */
  let left = -1
  let size = ''
  /** of the end of line behind a chunk */
  let skip = 0

  return (bytes) => {
    for (let at = 0; at < bytes.length;) {
      if (skip > 0) {
        const here = Math.min(skip, bytes.length - at)
        skip -= here
        at += here
      } else if (left < 0) {
        const end = bytes.indexOf(LF, at)
        size += bytes.toString('latin1', at, end < 0 ? bytes.length : end)
        if (size.length > 20) throw new Error('no size of a chunk')
        if (end < 0) return
        if (!/^[0-9a-f]+\r$/i.test(size)) throw new Error(`no size of a chunk: ${JSON.stringify(size)}`)
        left = parseInt(size, 16)
        size = ''
        if (left === 0) throw new Error('the stream was ended')
        at = end + 1
      } else {
        const here = Math.min(left, bytes.length - at)
        onBytes(bytes.subarray(at, at + here))
        left -= here
        at += here
        if (left === 0) [left, skip] = [-1, 2]
      }
    }
  }
}

/** @param {(event: Buffer) => void} onEvent @returns {(bytes: Buffer) => void} */
export function createSplitter (onEvent) {
  /** of an event that came in pieces @type {Buffer[]} */
  let parts = []
  let endsInLine = false

  return (bytes) => {
    let from = 0
    while (from < bytes.length) {
      const isCut = endsInLine && bytes[from] === LF
      const end = isCut ? from + 1 : bytes.indexOf(EVENT_END, from) + EVENT_END.length
      endsInLine = false
      if (!isCut && end < from + EVENT_END.length) {
        endsInLine = bytes[bytes.length - 1] === LF
        parts.push(Buffer.from(bytes.subarray(from)))
        return
      }
      const last = bytes.subarray(from, end)
      from = end
      const event = parts.length > 0 ? Buffer.concat([...parts, last]) : last
      parts = []
      onEvent(event)
    }
  }
}

/** @param {string} text of an event, with its empty line @returns {ReadEvent} */
export function readEvent (text) {
  /** @type {ReadEvent} */
  const read = { event: 'message', data: null, id: null }
  for (const line of text.split('\n')) {
    const at = line.indexOf(':')
    const value = line.slice(at + (line[at + 1] === ' ' ? 2 : 1))
    if (at <= 0) continue
    const name = line.slice(0, at)
    if (name === 'data') read.data = read.data === null ? value : `${read.data}\n${value}`
    else if (name === 'event' || name === 'id') read[name] = value
  }
  return read
}
