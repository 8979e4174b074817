/**
 * A connection for following a log: one epoch as in connection.js, for the same reasons, that leaves the client out. What
 * XREAD brings lies in memory that is used again (reply-memory.js): it is good until XREAD was sent twice more. So it
 * costs no memory, however much comes.
 */
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { FreshetError } from '../errors.js'
import { greet, openingFailure } from './greeting.js'
import { fromReply } from './replies.js'
import { createReplyCheck } from './reply-check.js'
import { ReplyError, ReplyMemory } from './reply-memory.js'
import { watchForSilence } from './silence.js'
import { bareHost, tlsOptions } from './tls.js'

const DEFAULT_PORT = '6379'
const LENT = 'XREAD'
/** what a socket brings at once; read and copied in one go, so all sockets have the same */
const LANDING = Buffer.allocUnsafeSlow(256 * 1024)

/** answered and not forgotten */
const MANY = 100

/** @typedef {{ resolve: (reply: any) => void, reject: (error: Error) => void, isLent: boolean }} Asked */
/** @typedef {Pick<import('./connection.js').Connection, 'address' | 'url' | 'send' | 'closed' | 'close'>} LogConnection */

/**
 * @param {string} url as in connection.js
 * @param {{ name: string, deadlineMs: number }} options `name` is what CLIENT LIST shows
 * @returns {Promise<LogConnection>}
 * @throws {FreshetError} SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED
 */
export async function openLogConnection (url, { name, deadlineMs }) {
  const target = new URL(url)
  const address = `${target.hostname}:${target.port || DEFAULT_PORT}`
  const tls = await tlsOptions(target)
  const where = { host: bareHost(target), port: Number(target.port || DEFAULT_PORT), noDelay: true }
  const check = createReplyCheck()
  const memory = new ReplyMemory()
  /** @type {Asked[]} in the order of their answers; those before `answered` have theirs */
  let asked = []
  let answered = 0
  let sent = 0
  let heardAt = 0
  let wasReached = false
  let wasHeard = false
  /** @type {Error | undefined} */
  let lastError
  /** @type {string | null} */
  let endedBecause = null
  /** @type {(reason: string) => void} */
  let settleClosed
  const closed = /** @type {Promise<string>} */ (new Promise((resolve) => { settleClosed = resolve }))

  const socket = tls
    ? connectTls({ ...where, ...tls })
    : connect({ ...where, onread: { buffer: LANDING, callback: (bytes) => take(LANDING.subarray(0, bytes)) } })
  if (tls) socket.on('data', take)
  socket.once('connect', () => { wasReached = true })
  socket.on('error', (error) => { lastError ??= error })
  socket.once('close', () => end(lastError ? lastError.message : 'closed by the server'))

  /** @param {Buffer} bytes */
  function take (bytes) {
    heardAt = performance.now()
    wasHeard = true
    try {
      check(bytes, sent)
    } catch (error) {
      lastError ??= error
      end(error.message)
      return false
    }
    memory.append(bytes)
    while (answered < asked.length && memory.isWhole()) settle(asked[answered++])
    if (answered === asked.length || answered > MANY) {
      asked = asked.slice(answered)
      answered = 0
    }
    return true
  }

  /** @param {Asked} one */
  function settle ({ resolve, reject, isLent }) {
    const reply = memory.take(isLent)
    if (reply instanceof ReplyError) reject(fromReply(reply, address))
    else resolve(reply)
  }

  const watch = watchForSilence({ deadlineMs, isOwed: () => answered < asked.length, heardAtMs: () => heardAt, end: (reason) => end(reason) })

  /** @param {string} reason */
  function end (reason) {
    if (endedBecause !== null) return
    endedBecause = reason
    clearInterval(watch)
    socket.destroy()
    const left = asked.slice(answered)
    asked = []
    answered = 0
    for (const { reject } of left) reject(lost())
    settleClosed(reason)
  }

  const lost = () => new FreshetError('SERVER_LOST', `the connection to ${address} ended (${endedBecause}) before the reply`, { outcome: 'over' })

  /** @type {LogConnection['send']} */
  const send = (command, ...args) => new Promise((resolve, reject) => {
    if (endedBecause !== null) return reject(lost())
    if (answered === asked.length) heardAt = performance.now()
    const isLent = command === LENT
    if (isLent) memory.turn()
    asked.push({ resolve, reject, isLent })
    sent++
    socket.write(spelt(command, args))
  })

  const late = `no answer within ${deadlineMs} ms`
  const timer = setTimeout(() => end(late), deadlineMs)
  try {
    await Promise.race([greet(target, name, send), closed.then((reason) => { throw new Error(reason) })])
  } catch (error) {
    const answer = error instanceof FreshetError && error.code !== 'SERVER_LOST' ? error : null
    const cause = lastError ?? (endedBecause === null ? error : new Error(endedBecause))
    end('not opened')
    throw openingFailure(answer ?? cause, { address, isTls: tls !== null, wasReached, wasHeard, isLate: cause.message === late })
  } finally {
    clearTimeout(timer)
  }
  return { address, url, send, closed, close: (reason = 'closed') => end(reason) }
}

/** @param {string} command @param {(string | number | Buffer)[]} args @returns {Buffer} as it travels */
function spelt (command, args) {
  /** @type {Buffer[]} */
  const parts = [Buffer.from(`*${args.length + 1}\r\n`)]
  for (const word of [command, ...args]) {
    const bytes = Buffer.isBuffer(word) ? word : Buffer.from(String(word))
    parts.push(Buffer.from(`$${bytes.length}\r\n`), bytes, Buffer.from('\r\n'))
  }
  return Buffer.concat(parts)
}
