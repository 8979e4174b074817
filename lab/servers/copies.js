/**
 * Copies of a feed. A copy is one server, or the nodes of a cluster that hold all slots between them: its primaries, or one replica of
 * each.
 */
import { FreshetError } from '../errors.js'
import { slotOf } from '../../src/store/index.js'
import { openNode, queryNode } from './query.js'
import { shardsOf } from './shapes.js'

/** @typedef {import('./query.js').Connection} Connection */

/** @param {Parameters<typeof shardsOf>[0]} servers @returns {string[][]} addresses of each copy, the primaries first */
export function copiesOf (servers) {
  const shards = shardsOf(servers)
  return shards[0].map((_, copy) => shards.map((urls) => urls[copy]))
}

/**
 * Reads a copy as if it were one server.
 * @template T
 * @param {string[]} urls of the copy
 * @param {(connection: Connection) => Promise<T>} query sends commands of one key, or of keys with one hash tag
 * @param {{ deadlineMs: number }} options reply timeout
 * @returns {Promise<T>}
 */
export async function queryCopy (urls, query, options) {
  if (urls.length === 1) return queryNode(urls[0], query, options)
  const opened = await Promise.allSettled(urls.map((url) => openNode(url, options)))
  try {
    const connections = opened.map((one) => {
      if (one.status === 'rejected') throw one.reason
      return one.value
    })
    return await query(routed(await Promise.all(connections.map(nodeOf))))
  } finally {
    for (const one of opened) if (one.status === 'fulfilled') one.value.close()
  }
}

/** A node of a cluster, and which slots it has. @param {Connection} connection */
async function nodeOf (connection) {
  const [, rows] = await connection.sendAll([['READONLY'], ['CLUSTER', 'SLOTS']])
  const own = rows.filter((/** @type {any[]} */ [, , ...those]) => those.some(([, port]) => connection.address.endsWith(`:${port}`)))
  const has = (/** @type {number} */ slot) => own.some((/** @type {any[]} */ [first, last]) => slot >= first && slot <= last)
  return { connection, has }
}

/** @param {{ connection: Connection, has: (slot: number) => boolean }[]} nodes @returns {Connection} */
const routed = (nodes) => /** @type {any} */ ({
  address: nodes.map(({ connection }) => connection.address).join(', '),
  send (/** @type {string} */ name, /** @type {any[]} */ ...args) {
    const slot = slotOf(name === 'SCAN' ? args[2] : args[0])
    const node = nodes.find(({ has }) => has(slot))
    if (!node) throw new FreshetError('LAB_SERVERS_CHANGED', `no node of the copy has slot ${slot}; repeat the measurement`)
    return node.connection.send(name, ...args)
  }
})
