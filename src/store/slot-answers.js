/** What nodes of a cluster say about slots: CLUSTER SLOTS, and the epoch of CLUSTER INFO. */
import { FreshetError } from '../errors.js'
import { SLOTS } from './slots.js'
import { urlAt } from './tls.js'

/**
 * @param {import('./connection.js').Connection} connection to any node
 * @param {string} like an address with the credentials and TLS files of all nodes
 */
export async function readSlots (connection, like) {
  // one after the other: a refusal may end the connection
  const rows = await connection.send('CLUSTER', 'SLOTS')
  const info = await connection.send('CLUSTER', 'INFO')
  if (rows.length === 0) {
    throw new FreshetError('SERVER_UNREACHABLE', `the node at ${connection.address} knows no primary with slots; form the cluster first`)
  }
  /** @type {Set<string>} */
  const ids = new Set()
  /** @type {(string | undefined)[]} */
  const owners = new Array(SLOTS)
  /** @type {Map<string, string[]>} */
  const shards = new Map()
  for (const [first, last, ...nodes] of rows) {
    const [primary, ...replicas] = nodes.map((/** @type {any[]} */ [host, port, id]) => {
      ids.add(String(id))
      // empty or ? = the address that it was asked at
      return urlAt(like, /^\??$/.test(String(host ?? '')) ? hostnameOf(connection.url) : String(host), String(port))
    })
    owners.fill(primary, first, last + 1)
    shards.set(primary, replicas)
  }
  return { ids, owners, shards, epoch: Number(/cluster_current_epoch:(\d+)/.exec(String(info))?.[1] ?? 0) }
}

/** @param {string} url */
export const hostOf = (url) => new URL(url).host
/** @param {string} url */
export const hostnameOf = (url) => new URL(url).hostname
