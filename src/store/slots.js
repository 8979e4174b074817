/**
 * The 16,384 slots of a cluster, and hash tags that spread over them.
 *
 * CRC16 is linear: tags that differ in one digit fall into the same quarters of the slots. So partition p of several has the tag
 * `{name:p.k}`, where k is the smallest number that puts it into the p-th of equal ranges of the slots. Any even assignment of slots to
 * primaries then gets an even share of the partitions.
 */
import { FreshetError } from '../errors.js'
import { namedAddress } from './named-address.js'
import { bareHost, urlAt } from './tls.js'

/**
 * What nodes of a cluster say about slots: CLUSTER SLOTS, the epoch of CLUSTER INFO, and MOVED. An answer is used whole or not at all.
 */

/** a process keeps a connection to each node */
const MAX_NODES = 2000
const MAX_ROW_NODES = 100
/** an id has 40 */
const MAX_ID_BYTES = 128
const MOVED = /^MOVED (\d{1,5}) (\S*):(\d+)(?:\s|$)/

/**
 * @typedef {{ ids: Set<string>, owners: (string | undefined)[], shards: Map<string, string[]>, epoch: number }} SlotAnswer `owners`: URL of
 *   the primary by slot; `shards`: URLs of the replicas by URL of their primary
 * @typedef {{ slot: number, host: string, port: string }} Moved `host` may be empty or ?: that of the node that answered
 */

/**
 * @param {import('./connection.js').Connection} connection to any node
 * @param {string} like an address with the credentials and TLS files of all nodes
 * @returns {Promise<SlotAnswer>} @throws {FreshetError} SERVER_REFUSED, SERVER_UNREACHABLE, SERVER_LOST
 */
export async function readSlots (connection, like) {
  // one after the other: a refusal may end the connection
  const rows = await connection.send('CLUSTER', 'SLOTS')
  const info = await connection.send('CLUSTER', 'INFO')
  return slotsIn({ rows, info }, { like, askedHost: hostnameOf(connection.url), address: connection.address })
}

/**
 * @param {{ rows: unknown, info: unknown }} replies to CLUSTER SLOTS and CLUSTER INFO
 * @param {{ like: string, askedHost: string, address: string }} node that gave them
 * @returns {SlotAnswer} @throws {FreshetError} SERVER_REFUSED, isMalformed; SERVER_UNREACHABLE without slots
 */
function slotsIn ({ rows, info }, { like, askedHost, address }) {
  if (!Array.isArray(rows)) throw malformed(address, 'CLUSTER SLOTS', 'no array')
  const epoch = epochIn(info, address)
  if (rows.length === 0) {
    throw new FreshetError('SERVER_UNREACHABLE', `the node at ${address} knows no primary with slots; form the cluster first`)
  }
  /** @type {Set<string>} */
  const ids = new Set()
  /** @type {(string | undefined)[]} */
  const owners = new Array(SLOTS).fill(undefined)
  /** @type {Map<string, string[]>} */
  const shards = new Map()
  /** @type {Set<string>} */
  const urls = new Set()
  for (const row of rows) {
    const { first, last, nodes } = rowIn(row, { like, askedHost, address })
    for (const { id, url } of nodes) {
      ids.add(id)
      urls.add(url)
    }
    if (Math.max(urls.size, ids.size) > MAX_NODES) throw malformed(address, 'CLUSTER SLOTS', `more than ${MAX_NODES} nodes`)
    const [primary, ...replicas] = nodes.map(({ url }) => url)
    for (let slot = first; slot <= last; slot++) {
      if (owners[slot] !== undefined) throw malformed(address, 'CLUSTER SLOTS', `slot ${slot} in two ranges`)
      owners[slot] = primary
    }
    shards.set(primary, replicas)
  }
  return { ids, owners, shards, epoch }
}

/**
 * @param {unknown} row @param {{ like: string, askedHost: string, address: string }} node that gave it
 * @returns {{ first: number, last: number, nodes: { url: string, id: string }[] }}
 */
function rowIn (row, { like, askedHost, address }) {
  if (!Array.isArray(row)) throw malformed(address, 'CLUSTER SLOTS', 'a range that is no array')
  const [first, last, ...nodes] = row
  if (!isSlot(first) || !isSlot(last) || first > last) throw malformed(address, 'CLUSTER SLOTS', `a range outside 0-${SLOTS - 1}`)
  if (nodes.length === 0 || nodes.length > MAX_ROW_NODES) {
    throw malformed(address, 'CLUSTER SLOTS', `a range with ${nodes.length} nodes, not 1-${MAX_ROW_NODES}`)
  }
  return {
    first,
    last,
    nodes: nodes.map((node) => {
      const [host, port, id = ''] = Array.isArray(node) ? node : []
      const named = namedAddress(host, port, askedHost)
      if (named === null) throw malformed(address, 'CLUSTER SLOTS', 'a node without a usable address')
      if (!(typeof id === 'string' || Buffer.isBuffer(id)) || id.length > MAX_ID_BYTES) {
        throw malformed(address, 'CLUSTER SLOTS', 'a node without a usable id')
      }
      return { url: urlAt(like, named.host, named.port), id: String(id) }
    })
  }
}

/** @param {unknown} slot @returns {slot is number} */
const isSlot = (slot) => Number.isInteger(slot) && Number(slot) >= 0 && Number(slot) < SLOTS

/** @param {unknown} info @param {string} address */
function epochIn (info, address) {
  const epoch = Buffer.isBuffer(info) ? Number(/cluster_current_epoch:(\d+)/.exec(String(info))?.[1] ?? 0) : NaN
  if (!Number.isSafeInteger(epoch)) throw malformed(address, 'CLUSTER INFO', 'no epoch')
  return epoch
}

/** @param {string} address @param {string} command @param {string} fault */
const malformed = (address, command, fault) => new FreshetError('SERVER_REFUSED', `the server at ${address} gave no usable answer to ` +
  `${command}: ${fault}; expected the answer of a node of a cluster`, { isMalformed: true })

/** @param {string} text of an error reply @returns {Moved | null} null: without a slot or an address */
export function movedIn (text) {
  const [, slot, host, port] = MOVED.exec(text) ?? []
  if (slot === undefined || !isSlot(Number(slot)) || namedAddress(host, port, '') === null) return null
  return { slot: Number(slot), host, port }
}

/** @param {string} url */
export const hostOf = (url) => new URL(url).host
/** Without the brackets of IPv6. @param {string} url */
export const hostnameOf = (url) => bareHost(new URL(url))

export const SLOTS = 16384

const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1
  return crc
})

/** CRC16 (XMODEM), as the servers use it. @param {Buffer} bytes */
function crc16 (bytes) {
  let crc = 0
  for (const byte of bytes) crc = ((crc << 8) & 0xffff) ^ TABLE[(crc >> 8) ^ byte]
  return crc
}

/** @param {string | Buffer} key @returns {number} that of the hash tag, if the key has one */
export function slotOf (key) {
  const bytes = Buffer.from(key)
  const open = bytes.indexOf('{')
  const close = open < 0 ? -1 : bytes.indexOf('}', open + 1)
  return crc16(close > open + 1 ? bytes.subarray(open + 1, close) : bytes) % SLOTS
}

/** @type {Map<string, string>} */
const tags = new Map()

/** @param {string} name @param {number} partition @param {number} partitions @returns {string} without braces */
export function spreadTag (name, partition, partitions) {
  const wanted = `${name}:${partition}/${partitions}`
  const known = tags.get(wanted)
  if (known !== undefined) return known
  let k = 0
  while (Math.floor(slotOf(`${name}:${partition}.${k}`) * partitions / SLOTS) !== partition) k++
  tags.set(wanted, `${name}:${partition}.${k}`)
  return `${name}:${partition}.${k}`
}
