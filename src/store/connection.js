/**
 * One connection to a server. It opens, answers requests, and ends once (session.js). It never reconnects and never resends;
 * link.js opens the next one.
 *
 * Replies are read by ioredis, or into memory that is used again, for following a log (socket.js).
 */
import { FreshetError } from '../errors.js'
import { greet, openingFailure } from './greeting.js'
import { iamToken, isOfIam, keepAuthenticated } from './iam.js'
import { fromReply, takerOf } from './replies.js'
import { readScript } from './scripts.js'
import { createSession, Late } from './session.js'
import { gatherWrites, readForLog, readWithClient } from './socket.js'
import { bareHost, tlsOptions } from './tls.js'

/**
 * @typedef {string | number | Buffer} Word
 *
 * @typedef {object} Connection
 * @property {string} address host:port, for messages
 * @property {string} url as it was given, secrets included
 * @property {boolean} isOfCluster whether it was opened to a node of a cluster that is known to be one
 * @property {import('./slot-map.js').SlotMap | undefined} map of that cluster
 * @property {(command: string, ...args: Word[]) => Promise<any>} send one command; strings arrive as Buffers
 * @property {(command: string, ...args: Word[]) => Promise<any>} sendDispensable a command that the program can do without:
 *   a missing permission only rejects it
 * @property {(commands: Word[][]) => Promise<any[]>} sendAll at least one command in one write, without a transaction; resolves
 *   with all replies, rejects with the first error
 * @property {(encoded: { bytes: Buffer, replies: number }) => Promise<any>} sendEncoded encoded commands and how many replies
 *   they cause; resolves with the last reply, rejects with the first error
 * @property {(script: string | import('./scripts.js').Script, keys: (string | Buffer)[], args: Word[]) => Promise<any>} runScript a
 *   file in lua/, or a script of scriptWith
 * @property {Promise<string>} closed resolves with the reason
 * @property {number} answered requests that got a reply, errors included
 * @property {boolean} refused whether it was closed because its user lacks a permission
 * @property {string | undefined} publicWhy the reason for that, without names and secrets
 * @property {(reason?: string, because?: { refused?: boolean, publicWhy?: string }) => void} close
 *
 * @typedef {{ error: FreshetError, connection: Connection, again: ((connection: Connection) => Promise<unknown>) | null }} Refusal
 *   the user lacks the permission for a request; `again` repeats the request on another connection, null for encoded ones
 */

const DEFAULT_PORT = '6379'
/** the server works on more than this while the rest of the turn goes on here */
const LARGE_BYTES = 8192
/** of a library, for one call */
const MAX_LOADS = 3
/** its reply is lent on a connection for a log */
const LENT = 'XREAD'

/**
 * @param {string} url redis://, or rediss:// with ?ca=FILE&cert=FILE&key=FILE (tls.js)
 * @param {{ name: string, deadlineMs: number, isForLog?: boolean, isHeld?: () => boolean, onForbidden?: (refusal: Refusal) => void,
 *   map?: import('./slot-map.js').SlotMap, signal?: AbortSignal, renewMs?: number }} options
 *   `name` for CLIENT LIST; `deadlineMs`: of each step until the socket is connected (the look-up of a name, TCP, TLS), then of each
 *   reply; `map`: learns where slots have moved; `isForLog`: a reply of XREAD is valid until XREAD has been sent twice
 *   more, or longer if `isHeld` is true then; `signal` cancels the opening; `renewMs`: between two tokens of IAM
 * @returns {Promise<Connection>}
 * @throws {FreshetError} SERVER_UNREACHABLE, SERVER_UNTRUSTED, SERVER_REFUSED
 */
export async function openConnection (url, options) {
  const { name, deadlineMs, isForLog = false, isHeld, onForbidden = () => {}, map, signal } = options
  const isOfCluster = map?.isCluster === true
  const target = new URL(url)
  const where = { host: bareHost(target), port: Number(target.port || DEFAULT_PORT), tls: await tlsOptions(target) }
  const address = `${target.hostname}:${where.port}`
  const expectWanted = () => {
    if (signal?.aborted) throw new FreshetError('SERVER_UNREACHABLE', `the opening of a connection to ${address} was cancelled`)
  }
  expectWanted()
  // a source of credentials may take longer than a server may
  const token = isOfIam(target) ? await iamToken(target, signal) : null
  expectWanted()

  const read = isForLog ? readForLog : readWithClient
  const wire = read({
    ...where,
    isHeld,
    onBytes: (...arrived) => session.heard(...arrived),
    onFault: (error) => session.end(error),
    onUnusable: () => session.endSoon()
  })
  const session = createSession({ address, wire, deadlineMs })
  const connection = createConnection({ address, url, wire, session, onForbidden, map: isOfCluster ? map : undefined })
  /** A server may close right after an error, so errors count at once here. @param {string} command @param {string[]} args */
  const say = (command, ...args) => session.request((done) => wire.send(encodeCommand(command, args), takerOf(1, done)),
    (reply) => fromReply(reply, address))

  const connecting = timeSteps(wire.socket, deadlineMs, () => session.end(new Late(`no answer within ${deadlineMs} ms`)))
  const giveUp = () => session.end(new Error('closed'))
  signal?.addEventListener('abort', giveUp, { once: true })
  let wasConnected = false
  try {
    await Promise.race([wire.opened, session.closed.then(() => { throw session.cause })])
    wasConnected = true
    connecting.end()
    await greet(target, { name, isOfCluster, token }, say)
    if (token !== null) keepAuthenticated(target, { send: connection.sendDispensable, closed: session.closed, renewMs: options.renewMs })
    return connection
  } catch (error) {
    const isAnswer = error instanceof FreshetError && error.code !== 'SERVER_LOST'
    session.end(error)
    const { cause, wasReached, wasHeard } = session
    const attempt = { address, isTls: where.tls !== null, isOfCluster, wasReached, wasConnected, wasHeard, isLate: cause instanceof Late }
    throw openingFailure(isAnswer ? error : cause ?? error, attempt)
  } finally {
    connecting.end()
    signal?.removeEventListener('abort', giveUp)
  }
}

/** What a socket reports while it connects: the addresses of a name, one that refuses, and the layers that are open. */
const STEPS = ['lookup', 'connectionAttemptFailed', 'connect', 'secureConnect']

/**
 * Times each step until a socket is connected. A busy process looks like a late server, so what has arrived is read first.
 * @param {import('node:net').Socket} socket @param {number} deadlineMs @param {() => void} late
 */
function timeSteps (socket, deadlineMs, late) {
  /** @type {NodeJS.Timeout} */
  let timer
  let step = 0
  function next () {
    const mine = ++step
    clearTimeout(timer)
    timer = setTimeout(() => setImmediate(() => { if (mine === step) late() }), deadlineMs)
  }
  for (const event of STEPS) socket.on(event, next)
  next()
  return {
    end () {
      for (const event of STEPS) socket.off(event, next)
      step = 0
      clearTimeout(timer)
    }
  }
}

/**
 * @param {{ address: string, url: string, wire: import('./socket.js').Wire, session: import('./session.js').Session,
 *   onForbidden: (refusal: Refusal) => void, map?: import('./slot-map.js').SlotMap }} parts
 * @returns {Connection}
 */
function createConnection ({ address, url, wire, session, onForbidden, map }) {
  let refused = false
  /** @type {string | undefined} */
  let publicWhy

  /** @param {Refusal['again'] | 'dispensable'} again */
  const meaningOf = (again) => (/** @type {Error} */ reply) => {
    const error = fromReply(reply, address, { isOfCluster: map !== undefined })
    if (error.to) map?.moved(error.to, connection)
    else if (error.outcome === 'later') map?.refreshSoon()
    if (error.to === null) map?.refusals.add('redirect', error)
    if (error.outcome === 'forbidden' && again !== 'dispensable') onForbidden({ error, connection, again })
    return error
  }

  const writes = gatherWrites(wire.socket)

  /** @param {string} command @param {Word[]} args @param {Refusal['again'] | 'dispensable'} again */
  const sendOne = (command, args, again) => session.request((done) => {
    writes.gather()
    wire.send(encodeCommand(command, args), takerOf(1, done), { isLent: command === LENT })
  }, meaningOf(again))

  /** @type {Connection} */
  const connection = {
    address,
    url,
    isOfCluster: map !== undefined,
    map,
    send: (command, ...args) => sendOne(command, args, (next) => next.send(command, ...args)),
    sendDispensable: (command, ...args) => sendOne(command, args, 'dispensable'),
    sendAll: (commands) => Promise.all(commands.map(([command, ...args]) => connection.send(String(command), ...args))),
    sendEncoded: ({ bytes, replies }) => session.request((done) => {
      writes.gather()
      wire.send(bytes, takerOf(replies, done))
      if (bytes.length > LARGE_BYTES) writes.release()
    }, meaningOf(null)),
    async runScript (named, keys, args) {
      const script = typeof named === 'string' ? readScript(named) : named
      if (script.call !== undefined) return runFunction(connection, script.body, ['FCALL', script.call, keys.length, ...keys, ...args])
      const suffix = script.mode === 'read' ? '_RO' : ''
      try {
        return await connection.send('EVALSHA' + suffix, script.sha, keys.length, ...keys, ...args)
      } catch (error) {
        if (error.reply !== 'NOSCRIPT') throw error
        return connection.send('EVAL' + suffix, script.body, keys.length, ...keys, ...args)
      }
    },
    closed: session.closed,
    get answered () { return session.answered },
    get refused () { return refused },
    get publicWhy () { return publicWhy },
    close (reason = 'closed', because = {}) {
      if (session.isOver) return
      refused = because.refused ?? false
      publicWhy = because.publicWhy
      session.end(new Error(reason))
    }
  }
  return connection
}

/**
 * A function of a library, which the server may not have yet. Others may load or delete it at the same time.
 * @param {Connection} connection @param {string} library its text @param {[string, ...Word[]]} call
 */
async function runFunction (connection, library, call) {
  for (let loads = 0; ; loads++) {
    try {
      return await connection.send(...call)
    } catch (error) {
      if (!/Function not found/.test(error.message) || loads === MAX_LOADS) throw error
    }
    await connection.send('FUNCTION', 'LOAD', library).catch((error) => { if (!/already exists/.test(error.message)) throw error })
  }
}

/** @param {string} command @param {Word[]} args @returns {Buffer} RESP: an array of bulk strings */
function encodeCommand (command, args) {
  /** @type {Buffer[]} */
  const parts = []
  let text = `*${args.length + 1}\r\n`
  for (const word of [command, ...args]) {
    if (Buffer.isBuffer(word)) {
      parts.push(Buffer.from(`${text}$${word.length}\r\n`), word)
      text = '\r\n'
    } else {
      text += `$${Buffer.byteLength(String(word))}\r\n${word}\r\n`
    }
  }
  parts.push(Buffer.from(text))
  return Buffer.concat(parts)
}
