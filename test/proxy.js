/**
 * A TCP proxy on which things go wrong. Its address stays, whatever server is behind it: what a DNS name or the
 * endpoint of a primary is elsewhere.
 *
 *     client -> half of a piece, then silent? -> line.held? -> delayed, in pieces -> server
 *     client <- in pieces, delayed <- counted by replies: reset or silent from the k-th <- server
 *
 * @typedef {Awaited<ReturnType<typeof startProxy>>} Proxy
 * @typedef {ReturnType<typeof createLine>} Line
 */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import { createReplies } from './resp.js'

/** how a client says what CLIENT LIST shows */
const NAME = /setname\r\n\$\d+\r\n([^\r]+)\r\n/i
const GREETING_BYTES = 4096
const STATUS = '+'.charCodeAt(0)

/**
 * @param {import('tap').Test} t
 * @param {number} port of the server behind it
 * @param {{ delayMs?: number, pieceBytes?: number, isCounting?: boolean, onLine?: (line: Line) => void }} [options] `delayMs` each way;
 *   `pieceBytes`: everything is written in pieces of so many bytes; `isCounting`: false = the server does not speak RESP, and its replies
 *   are not counted; `onLine` is called for each new connection
 */
export async function startProxy (t, port, { delayMs = 0, pieceBytes = Infinity, isCounting = true, onLine = () => {} } = {}) {
  /** @type {Set<Line>} */
  const lines = new Set()
  let silent = false
  let accepted = 0
  const server = createServer((client) => {
    accepted++
    const line = createLine(client, port, { delayMs, pieceBytes, isCounting, onGone: () => lines.delete(line) })
    lines.add(line)
    if (silent) line.goSilent()
    onLine(line)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = /** @type {import('node:net').AddressInfo} */ (server.address()).port
  const each = (/** @type {(line: Line) => void} */ act) => { for (const line of [...lines]) act(line) }
  const stop = () => {
    server.close()
    each((line) => line.reset())
  }
  t.teardown(stop)

  return {
    port: own,
    url: `redis://127.0.0.1:${own}`,
    get lines () { return [...lines] },
    get accepted () { return accepted },
    stop,
    /** Connections from now on go to that port. @param {number} other */
    switchTo (other) { port = other },
    /** Ends every connection with a reset, on both sides. */
    resetAll () { each((line) => line.reset()) },
    /** The same on the side of the clients; what they had sent until then is executed. */
    resetClients () { each((line) => line.resetClient()) },
    /** From now on every connection, those that come too, is accepted and swallows what it is sent. */
    goSilent () {
      silent = true
      each((line) => line.goSilent())
    },
    /** Resolves when what was delayed has been passed on, also of lines that are silent now. */
    passed: () => Promise.all([...lines].map((line) => line.passed())),
    /** New connections are as before; those that were silent are reset. */
    speak () {
      silent = false
      each((line) => { if (line.silent) line.reset() })
    },
    /** Keeps what the clients of now send from now on. */
    hold () { each((line) => line.hold()) },
    /** Delivers what was kept, also when its client is already gone. @returns {number} bytes */
    release () {
      let bytes = 0
      each((line) => { bytes += line.release() })
      return bytes
    }
  }
}

/**
 * @param {import('node:net').Socket} client
 * @param {number} port
 * @param {{ delayMs: number, pieceBytes: number, isCounting: boolean, onGone: () => void }} options
 */
function createLine (client, port, { delayMs, pieceBytes, isCounting, onGone }) {
  const upstream = connect({ port, host: '127.0.0.1', noDelay: true })
  client.setNoDelay(true)
  const replies = createReplies()
  const toServer = createWay(upstream, { delayMs, pieceBytes })
  const toClient = createWay(client, { delayMs, pieceBytes })
  let counted = 0
  /** whether a reply has begun and not ended */
  let isInside = false
  /**
   * @type {{ left: number, isMet: (kind: number) => boolean, act: () => void } | null} `isMet` gets the first
   *   byte of a reply
   */
  let fault = null
  /** @type {string | null} */
  let name = null
  /** @type {{ text: string, act: () => void } | null} */
  let awaited = null
  /** @type {{ bytes: number, act: () => void } | null} */
  let half = null
  /** @type {Buffer[] | null} */
  let held = null
  /** @type {string | null} */
  let holdFrom = null
  let silent = false
  let isMute = false

  function reset () {
    held = null
    resetSocket(client)
    resetSocket(upstream)
  }
  function goSilent () { silent = true }

  /**
   * @param {Buffer} bytes from the server
   * @param {number[]} ends
   * @returns {number} where the reply begins that a fault is for, -1 = there is none
   */
  function cutIn (bytes, ends) {
    const starts = [...(isInside ? [] : [0]), ...ends.filter((end) => end < bytes.length)]
    isInside = ends.at(-1) !== bytes.length
    return starts.find((start) => fault?.isMet(bytes[start]) && --fault.left === 0) ?? -1
  }

  client.on('data', (bytes) => {
    if (silent) return
    name ??= NAME.exec(bytes.toString('latin1', 0, GREETING_BYTES))?.[1] ?? null
    if (awaited && bytes.includes(awaited.text)) {
      const { act } = awaited
      awaited = null
      act()
    }
    if (half && bytes.length >= half.bytes) {
      toServer.write(bytes.subarray(0, bytes.length >> 1))
      goSilent()
      return half.act()
    }
    const at = holdFrom === null ? -1 : bytes.indexOf(holdFrom)
    if (at >= 0) {
      toServer.write(bytes.subarray(0, at))
      bytes = bytes.subarray(at)
      holdFrom = null
      held = []
    }
    if (held) held.push(bytes)
    else toServer.write(bytes)
  })
  upstream.on('data', (bytes) => {
    if (silent || isMute) return
    if (!isCounting) return toClient.write(bytes)
    const ends = replies.ends(bytes)
    counted += ends.length
    const cut = cutIn(bytes, ends)
    if (fault === null || cut < 0) return toClient.write(bytes)
    if (cut > 0) toClient.write(bytes.subarray(0, cut))
    const { act } = fault
    fault = null
    act()
  })
  upstream.on('close', () => { if (!silent) toClient.end() })
  client.on('close', () => { if (!held) toServer.end() })
  for (const socket of [client, upstream]) {
    socket.on('error', () => {})
    socket.on('close', () => { if (client.destroyed && upstream.destroyed && !held) onGone() })
  }

  /**
   * What happens instead of the k-th reply that begins from now on.
   * @param {number} k from 1
   * @param {(() => void)[]} acts
   * @param {(kind: number) => boolean} [isMet]
   */
  function instead (k, acts, isMet = () => true) { fault = { left: k, isMet, act: () => acts.forEach((act) => act()) } }

  return {
    /** Replies that the server has given. */
    get replies () { return counted },
    get silent () { return silent },
    /** What CLIENT LIST shows of this client; null = it did not say. */
    get name () { return name },
    reset,
    resetClient () { resetSocket(client) },
    goSilent,
    /** Passes on what the client sends, and no reply. */
    goMute () { isMute = true },
    passed: () => Promise.all([toServer.passed(), toClient.passed()]),
    /** Calls `act` when the client sends that text, in one piece, before it is passed on. @param {string} text @param {() => void} act */
    onceSent (text, act) { awaited = { text, act } },
    /**
     * The k-th reply that begins from now on is lost, and the connection reset on both sides.
     * @param {number} k from 1
     * @param {() => void} [onLost]
     */
    loseReply (k, onLost = () => {}) { instead(k, [onLost, reset]) },
    /**
     * The same, of replies to what was executed: a status (+OK, +QUEUED) is not counted.
     * @param {number} k from 1
     * @param {() => void} [onLost]
     */
    loseResult (k, onLost = () => {}) { instead(k, [onLost, reset], (kind) => kind !== STATUS) },
    /** Silent from the k-th reply on. @param {number} k from 1 @param {() => void} [onSilent] */
    goSilentAtReply (k, onSilent = () => {}) { instead(k, [onSilent, goSilent]) },
    /**
     * The next piece from the client that has so many bytes gets halfway, and nothing behind it.
     * @param {number} bytes
     * @param {() => void} [onSilent]
     */
    goSilentInside (bytes, onSilent = () => {}) { half = { bytes, act: onSilent } },
    /** Bytes that the client has sent and that are kept. */
    get heldBytes () { return held?.reduce((sum, { length }) => sum + length, 0) ?? 0 },
    /** Lets somebody else speak to the client, between the words of the server. @param {(client: import('node:net').Socket) => void} act */
    say (act) { act(client) },
    hold () { held ??= [] },
    /** Keeps what the client sends from that text on, the next time it comes in one piece. @param {string} text */
    holdFrom (text) { holdFrom = text },
    release () {
      const parts = held ?? []
      held = null
      for (const part of parts) if (!upstream.destroyed) upstream.write(part)
      if (client.destroyed) upstream.end()
      if (upstream.destroyed) onGone()
      return parts.reduce((sum, part) => sum + part.length, 0)
    }
  }
}

/** @param {import('node:net').Socket} socket */
function resetSocket (socket) {
  // one that is being shut down cannot be reset: its handle would stay, and the process not end
  if (socket.connecting || socket.writableEnded) socket.destroy()
  else socket.resetAndDestroy()
}

/**
 * What is written to a socket, in order, later and in pieces. It is ended behind everything that was written.
 * @param {import('node:net').Socket} socket @param {{ delayMs: number, pieceBytes: number }} options
 */
function createWay (socket, { delayMs, pieceBytes }) {
  if (delayMs === 0 && pieceBytes === Infinity) {
    return {
      write: (/** @type {Buffer} */ bytes) => { if (!socket.destroyed) socket.write(bytes) },
      end: () => { socket.destroySoon() },
      passed: async () => {}
    }
  }
  let last = Promise.resolve()
  const after = (/** @type {() => unknown} */ act) => {
    const readyAt = performance.now() + delayMs
    last = last.then(async () => {
      const waitMs = readyAt - performance.now()
      if (waitMs > 0) await pause(waitMs)
      await act()
    })
  }
  /** @param {Buffer} bytes */
  const write = (bytes) => after(async () => {
    for (let at = 0; at < bytes.length && !socket.destroyed; at += pieceBytes) {
      socket.write(bytes.subarray(at, at + pieceBytes))
      // a turn between the pieces, or the kernel would put them together again
      if (pieceBytes < bytes.length) await turn()
    }
  })
  return { write, end: () => after(() => { socket.destroySoon() }), passed: () => last }
}
