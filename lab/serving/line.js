/** A client that sends requests over one keep-alive connection, one at a time, and reads JSON. */
import { createHeadReader, openSocket } from '../../src/requests/index.js'

/** @typedef {{ status: number, isReplay: boolean, cache: string | null, body: any }} LineReply `status` 0: the connection ended; `cache`:
 *   header Freshet-Cache */

/** One connection; one request at a time. @param {URL} url */
export function openLine (url) {
  /** @type {((reply: LineReply) => void) | null} */
  let waiting = null
  let readHead = createHeadReader()
  /** @type {{ status: number, isReplay: boolean, cache: string | null, bytes: number } | null} */
  let head = null
  /** @type {Buffer[]} */
  let parts = []

  /** @param {Buffer} bytes */
  function take (bytes) {
    let rest = bytes
    if (head === null) {
      const found = readHead(bytes)
      if (found === null) return
      const length = Number(/\r\ncontent-length: (\d+)/i.exec(found.text)?.[1] ?? 0)
      const [, cache = null] = /\r\nfreshet-cache: (\w+)/i.exec(found.text) ?? []
      head = { status: found.status, isReplay: /\r\nidempotent-replayed: true/i.test(found.text), cache, bytes: length }
      rest = found.rest
    }
    parts.push(Buffer.from(rest))
    const body = parts.length === 1 ? parts[0] : Buffer.concat(parts)
    if (body.length < head.bytes) return
    const { status, isReplay, cache } = head
    ;[head, parts, readHead] = [null, [], createHeadReader()]
    waiting?.({ status, isReplay, cache, body: JSON.parse(body.toString()) })
  }

  /** @param {string} text @returns {Promise<LineReply>} */
  const send = (text) => new Promise((resolve) => {
    waiting = resolve
    if (socket.destroyed) resolve({ status: 0, isReplay: false, cache: null, body: {} })
    else socket.write(text)
  })

  /** @type {() => void} */
  let resolveOpen = () => {}
  const opened = /** @type {Promise<void>} */ (new Promise((resolve) => { resolveOpen = resolve }))
  const socket = openSocket(url, {
    connect: () => resolveOpen(),
    bytes: take,
    close: () => waiting?.({ status: 0, isReplay: false, cache: null, body: {} })
  })
  return {
    /** It is connected. */
    opened,
    send,
    /** @param {string} path @param {string} [headers] lines */
    get: (path, headers = '') => send(`GET ${path} HTTP/1.1\r\nhost: lab\r\n${headers}\r\n`),
    /** @param {string} path @param {string} key idempotency key @param {string} body ASCII @param {string} [headers] lines */
    post: (path, key, body, headers = '') => send(`POST ${path} HTTP/1.1\r\nhost: lab\r\ncontent-type: application/json\r\n` +
      `idempotency-key: ${key}\r\n${headers}content-length: ${body.length}\r\n\r\n${body}`),
    close: () => socket.destroy()
  }
}
