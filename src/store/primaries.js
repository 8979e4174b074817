/**
 * Connections to all primaries, one each, and which of them has a key. Without a cluster there is one primary.
 */
import { FreshetError } from '../errors.js'
import { createLink } from './link.js'
import { expectStillPrimary, nodeInfo } from './nodes.js'
import { createRouter } from './router.js'
import { slotMapOf } from './slot-map.js'

/** @typedef {ReturnType<typeof createPrimaries>} Primaries */
/** @typedef {import('./connection.js').Connection} Connection */

/**
 * @param {string} redisUrl
 * @param {Parameters<typeof createLink>[1] & { log?: import('pino').Logger }} options of each link; `log`: as slotMapOf
 */
export function createPrimaries (redisUrl, { log, ...options }) {
  const map = slotMapOf(redisUrl, log)
  /** @type {Map<string, import('./link.js').Link>} by URL */
  const links = new Map()
  const first = createLink({ map, url: () => map.isCluster ? map.seeds[0] : map.urlOf('') }, options)
  let isClosed = false

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
    /** Connections that are open now. @returns {Connection[]} */
    get connections () { return all().flatMap(({ connection }) => connection ?? []) },
    /** Where primaries are, also those that are not connected. */
    get urls () { return all().map(({ url }) => url) },
    /** A link without a connection, if there is one. */
    get lost () { return all().find((link) => link.connection === null) },
    /** Closes connections to nodes that are no primaries any more. @throws {FreshetError} what the first of them answered */
    async check () {
      const found = await Promise.allSettled(this.connections.map((connection) => expectStillPrimary(connection).catch((error) => {
        if (error.outcome === 'over') connection.close(error.message)
        throw error
      })))
      for (const one of found) if (one.status === 'rejected') throw one.reason
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
