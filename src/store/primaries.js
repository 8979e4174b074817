/**
 * Connections to all primaries, one each, and which of them has a key. Without a cluster there is one primary. Commands go to the primary
 * of their key. One that a node did not execute, because its slot is moving or has moved, is sent again, with waits of up to half a second.
 *
 * What a primary decided holds within its history, so each connection has a replication id.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { createLink } from './link.js'
import { expectStillPrimary, nodeInfo } from './nodes.js'
import { slotMapOf } from './slot-map.js'

/** of commands that a node does not execute */
const FOR_MS = 1000
const FIRST_WAIT_MS = 10
const LONGEST_WAIT_MS = 500

/**
 * @typedef {ReturnType<typeof createPrimaries>} Primaries
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {Pick<Connection, 'send' | 'sendDispensable' | 'sendAll' | 'runScript'>} Router for commands whose keys have one slot
 */

/**
 * @param {string} redisUrl
 * @param {Parameters<typeof createLink>[1] & { log?: import('pino').Logger }} options of each link; `prepare` without a value refuses
 *   what is no primary; `log`: as slotMapOf
 */
export function createPrimaries (redisUrl, { log, prepare, ...linkOptions }) {
  const map = slotMapOf(redisUrl, log)
  /** @type {WeakMap<Connection, string>} */
  const replicationIds = new WeakMap()
  const options = { ...linkOptions, prepare: prepare ?? expectPrimary }
  /** @type {Map<string, import('./link.js').Link>} by URL */
  const links = new Map()
  const first = createLink({ map, url: () => map.isCluster ? map.seeds[0] : map.urlOf('') }, options)
  let isClosed = false

  /** @param {Connection} connection */
  async function expectPrimary (connection) {
    const info = await nodeInfo(connection)
    await expectStillPrimary(connection)
    replicationIds.set(connection, info.master_replid ?? 'unknown')
  }

  function follow () {
    if (!map.isCluster || isClosed) return
    const urls = map.primaries
    for (const url of urls) if (!links.has(url)) links.set(url, createLink({ map, url: () => url }, options))
    for (const [url, link] of links) {
      if (urls.includes(url)) continue
      links.delete(url)
      link.close()
    }
    first.close()
  }
  const unwatch = map.watch(follow)
  follow()

  /** @param {string | Buffer} key */
  const linkOf = (key) => map.isCluster ? links.get(map.urlOf(key)) : first
  const all = () => map.isCluster ? [...links.values()] : [first]

  /** @param {string | Buffer} key @returns {Connection} @throws {FreshetError} SERVER_UNREACHABLE, or why there is no connection */
  function connectionOf (key) {
    const link = linkOf(key)
    if (link?.connection) return link.connection
    if (link?.lastError) throw link.lastError
    const { host } = new URL(link?.url ?? map.seeds[0])
    if (link?.sessions) throw new FreshetError('SERVER_LOST', `the connection to the primary at ${host} is being opened again`)
    throw new FreshetError('SERVER_UNREACHABLE', `not connected to the primary at ${host} yet`)
  }

  async function open () {
    await first.opened.catch((error) => { if (!map.isCluster) throw error })
    if (map.isCluster) await Promise.all(all().map((link) => link.opened))
  }
  const opened = open()
  opened.catch(() => {})

  return {
    /** Resolves when all primaries are connected. Rejects with the first failure; the links keep trying. */
    opened,
    connectionOf,
    /** Sends commands to the primaries of their keys. */
    router: createRouter(connectionOf, (connection) => connection.close('it cannot answer')),
    /**
     * The primary of a key, and the id of its history.
     * @param {string} key @returns {{ connection: Connection, replicationId: string }} @throws {FreshetError} as connectionOf
     */
    route (key) {
      const connection = connectionOf(key)
      return { connection, replicationId: /** @type {string} */ (replicationIds.get(connection)) }
    },
    /** Connections that are open now. @returns {Connection[]} */
    get connections () { return all().flatMap(({ connection }) => connection ?? []) },
    /** Where primaries are, also those that are not connected. */
    get urls () { return all().map(({ url }) => url) },
    /** A link without a connection, if there is one. */
    get lost () { return all().find((link) => link.connection === null) },
    /** Closes connections to nodes that are no primaries any more. @throws {FreshetError} what the first of them answered */
    async check () {
      const outcomes = await Promise.allSettled(this.connections.map((connection) => expectStillPrimary(connection).catch((error) => {
        if (error.outcome === 'over') connection.close(error.message)
        throw error
      })))
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason
    },
    async close () {
      isClosed = true
      unwatch()
      await Promise.all([first, ...links.values()].map((link) => link.close()))
    }
  }
}

/**
 * Opens connections to all primaries, for a command that ends. It rejects when one cannot be opened, and does not try again.
 * @param {string} redisUrl @param {{ name: string, deadlineMs: number }} options
 * @throws {FreshetError} what the first of them met
 */
export async function openPrimaries (redisUrl, options) {
  const primaries = createPrimaries(redisUrl, { ...options, prepare: nodeInfo })
  try {
    await primaries.opened
    return primaries
  } catch (error) {
    await primaries.close()
    throw error
  }
}

const isRefused = (/** @type {any} */ { outcome }) => outcome === 'moved' || outcome === 'later'

/**
 * Asks again while a node does not execute what it is asked, because a slot is moving or has moved.
 * @template T @param {() => Promise<T>} ask @param {number} [forMs] @returns {Promise<T>} @throws what `ask` throws
 */
export async function retryWhileMoved (ask, forMs = FOR_MS) {
  const endMs = performance.now() + forMs
  let isRedirected = false
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
    try {
      return await ask()
    } catch (error) {
      isRedirected ||= isRefused(error)
      // the new owner may not be connected yet
      const isRepeated = isRefused(error) || (isRedirected && error.code === 'SERVER_UNREACHABLE')
      if (!isRepeated || performance.now() + waitMs > endMs) throw error
    }
    await sleep(waitMs)
  }
}

/**
 * @param {(key: string | Buffer) => Connection} connectionOf may throw, when no node has the key now
 * @param {(connection: Connection) => void} [onLost] a node could not answer @returns {Router}
 */
export function createRouter (connectionOf, onLost = () => {}) {
  /** @template T @param {any} key @param {(connection: Connection) => Promise<T>} ask @returns {Promise<T>} */
  const routed = (key, ask) => retryWhileMoved(async () => {
    const connection = connectionOf(key)
    return ask(connection).catch((error) => {
      if (error.code === 'SERVER_LOST' && !isRefused(error)) onLost(connection)
      throw error
    })
  })

  return {
    send: (command, ...args) => routed(keyIn(command, args), (connection) => connection.send(command, ...args)),
    sendDispensable: (command, ...args) => routed(keyIn(command, args), (connection) => connection.sendDispensable(command, ...args)),
    sendAll: (commands) => routed(keyIn(...commandOf(commands[0])), (connection) => connection.sendAll(commands)),
    runScript: (name, keys, args) => routed(keys[0], (connection) => connection.runScript(name, keys, args))
  }
}

/** @param {import('./connection.js').Word[]} words @returns {[string, import('./connection.js').Word[]]} */
const commandOf = ([command, ...args]) => [String(command), args]

/** @param {string} command @param {import('./connection.js').Word[]} args */
const keyIn = (command, args) => command === 'XREAD' ? args[args.indexOf('STREAMS') + 1] : args[0]

/**
 * Opens connections of the caller's own to the primary of a key, for reads that block.
 * @param {string} primaryUrl @param {{ name: string, deadlineMs: number }} options
 * @typedef {ReturnType<typeof openerOf>} Opener
 */
export function openerOf (primaryUrl, { name, deadlineMs }) {
  return {
    /** Whether a read can have the keys of one partition only. */
    isSpread: () => slotMapOf(primaryUrl).isCluster,

    /** @param {AbortSignal} signal gives up @param {string} key @throws {FreshetError} what the first attempt met */
    async open (signal, key) {
      const map = slotMapOf(primaryUrl)
      const link = createLink({ map, url: () => map.urlOf(key) }, {
        name,
        deadlineMs,
        async prepare (connection) {
          await nodeInfo(connection)
          await expectStillPrimary(connection)
        }
      })
      function end () {
        signal.removeEventListener('abort', end)
        link.close()
      }
      signal.addEventListener('abort', end)
      try {
        const connection = await link.opened
        return { connection, isLeft: () => link.connection !== connection, end }
      } catch (error) {
        end()
        throw error
      }
    }
  }
}
