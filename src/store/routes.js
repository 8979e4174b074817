/**
 * The primaries of the partitions of a system. What a primary decided holds within its history, so each connection has a replication id.
 *
 * @typedef {ReturnType<typeof createRoutes>} Routes
 * @typedef {ReturnType<typeof openerOf>} Opener
 * @typedef {import('./connection.js').Connection} Connection
 */
import { createLink } from './link.js'
import { expectStillPrimary, nodeInfo } from './nodes.js'
import { createPrimaries } from './primaries.js'
import { slotMapOf } from './slot-map.js'

/**
 * @param {{ primaryUrl: string, name: string, deadlineMs: number, log?: import('pino').Logger }} options `log`: as slotMapOf
 */
export function createRoutes ({ primaryUrl, name, deadlineMs, log }) {
  /** @type {WeakMap<Connection, string>} */
  const replicationIds = new WeakMap()
  const primaries = createPrimaries(primaryUrl, {
    name,
    deadlineMs,
    log,
    async prepare (connection) {
      const info = await nodeInfo(connection)
      await expectStillPrimary(connection)
      replicationIds.set(connection, info.master_replid ?? 'unknown')
    }
  })
  return {
    opened: primaries.opened,
    router: primaries.router,
    /** Connections that are open now. */
    get connections () { return primaries.connections },
    /** Where primaries are, also those that are not connected. */
    get urls () { return primaries.urls },

    /**
     * The primary of a key.
     * @param {string} key @returns {{ connection: Connection, replicationId: string }} @throws {import('../errors.js').FreshetError} as
     *   Primaries.connectionOf
     */
    route (key) {
      const connection = primaries.connectionOf(key)
      return { connection, replicationId: /** @type {string} */ (replicationIds.get(connection)) }
    },

    close: primaries.close
  }
}

/**
 * Opens connections of the caller's own to the primary of a key, for reads that block.
 * @param {string} primaryUrl @param {{ name: string, deadlineMs: number }} options
 */
export function openerOf (primaryUrl, { name, deadlineMs }) {
  return {
    /** Whether a read can have the keys of one partition only. */
    isSpread: () => slotMapOf(primaryUrl).isCluster,

    /** @param {AbortSignal} signal gives up @param {string} key @throws {import('../errors.js').FreshetError} what the first attempt met */
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
