import { createHeadReader, openSocket } from '../../src/requests/index.js'
/**
 * One stream of server-sent events (HTTP/1.1, chunked), read as cheaply as possible. It separates events; readEvent parses one.
 *
 *     socket -> head -> chunks: size, bytes, end of line -> events: up to an empty line
 *
 * A stream that ends is not reopened.
 */

const EVENT_END = Buffer.from('\n\n')
const LF = 10
const MAX_SIZE_CHARACTERS = 20

/** @typedef {{ event: string, data: string | null, id: string | null }} ReadEvent `data` null: an event that is not dispatched */

/**
 * @param {string} address
 * @param {object} on
 * @param {(status: number) => void} on.status the head is complete
 * @param {(event: Buffer) => void} on.event with its empty line; its bytes are reused after it returns
 * @param {(why: string) => void} on.end once
 */
export function openStream (address, on) {
  const url = new URL(address)
  const readHead = createHeadReader()
  const dechunk = createDechunker(createSplitter(on.event))
  let hasHead = false

  /** @param {Buffer} bytes */
  function take (bytes) {
    if (hasHead) return dechunk(bytes)
    const head = readHead(bytes)
    if (head === null) return
    hasHead = true
    on.status(head.status)
    if (head.status !== 200) throw new Error(`status ${head.status}: ${head.rest.toString('utf8', 0, 200)}`)
    if (!/\r\ntransfer-encoding: *chunked/i.test(head.text)) throw new Error('a stream that is not chunked')
    dechunk(head.rest)
  }

  /** @type {import('node:net').Socket} */
  const socket = openSocket(url, {
    connect: () => { socket.write(`GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\naccept: text/event-stream\r\n\r\n`) },
    bytes: take,
    close: (fault) => on.end(fault ?? 'the connection was closed')
  })
}

/**
 * @param {(bytes: Buffer) => void} onBytes
 * @returns {(bytes: Buffer) => void} throws at the end of the body, and when it is not chunked
 */
export function createDechunker (onBytes) {
  /** bytes of the chunk; -1 = its size is next */
  let left = -1
  let size = ''
  /** bytes of the line end after a chunk */
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
        if (size.length > MAX_SIZE_CHARACTERS) throw new Error('invalid chunk size')
        if (end < 0) return
        if (!/^[0-9a-f]+\r$/i.test(size)) throw new Error(`invalid chunk size: ${JSON.stringify(size)}`)
        left = parseInt(size, 16)
        size = ''
        if (left === 0) throw new Error('the server ended the stream')
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
  /** of an event that is not complete @type {Buffer[]} */
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
