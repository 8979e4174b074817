/**
 * The position of a stream of several subjects, feeds and keys of systems, as one text: the position of each, or none.
 *
 *     kind 3 | crc32 of the names and all that follows, 4 bytes | 48 bit, the earliest time at which one was read, ms | subjects
 *
 *     a feed   number of partitions, 0 = no position | 32 bit, creation of the feed, ms mod 2^32 | for each partition:
 *              ms of the entry less the time above, zigzag | number of the entry, twice, + 1 if it was read to its end
 *     a key    bytes of its position, 0 = none | these
 *
 * Numbers without a size are of 7 bits a byte, the lowest first (LEB128). Subjects are in the order of their names, which the text does not
 * have: a position is of exactly these. A partition of a feed takes at most 16 bytes, so 256 of them fit into 6 KiB of base64url.
 *
 * @typedef {{ name: string, isFeed: boolean }} Subject `name`: of a feed, such as `latest`, or of a key: `auction:lamp`
 */
import { crc32 } from 'node:zlib'
import { createdMsOf, encodeOffsets, readOffsets } from './position.js'

const KIND = 3
const SUM_AT = 1
const READ_AT = 5
const REST_AT = 11
const TIME_BYTES = 6
const CREATED_MOD = 2 ** 32
/** characters */
export const MAX_POSITION = 6 * 1024

/**
 * @param {readonly (Subject & { position: string | null })[]} subjects each with its own position
 * @returns {string}
 */
export function encodeSeveral (subjects) {
  const sorted = inOrder(subjects)
  const feeds = new Map(sorted.flatMap(({ name, isFeed, position }) => isFeed && position ? [[name, readOffsets(position)]] : []))
  const readMs = Math.min(...[...feeds.values()].map((one) => one.readMs), 2 ** 48 - 1)
  /** @type {number[]} */
  const rest = []
  for (const { name, isFeed, position } of sorted) {
    const read = feeds.get(name)
    if (!isFeed) {
      const text = Buffer.from(position ?? '')
      put(rest, text.length)
      rest.push(...text)
    } else if (read === undefined) put(rest, 0)
    else {
      put(rest, read.offsets.length)
      const created = read.createdMs % CREATED_MOD
      rest.push(created >>> 24, (created >>> 16) & 0xff, (created >>> 8) & 0xff, created & 0xff)
      for (const { ms, n, isEnd } of read.offsets) {
        put(rest, zigzag(ms - readMs))
        put(rest, 2 * n + (isEnd ? 1 : 0))
      }
    }
  }
  const bytes = Buffer.alloc(REST_AT + rest.length)
  bytes[0] = KIND
  bytes.writeUIntBE(readMs, READ_AT, TIME_BYTES)
  bytes.set(rest, REST_AT)
  bytes.writeUInt32BE(checksum(sorted, bytes), SUM_AT)
  return bytes.toString('base64url')
}

/**
 * @param {readonly Subject[]} subjects in any order @param {string} text
 * @param {ReadonlyMap<string, import('../feeds/index.js').Definition | null>} definitions of feeds that exist
 * @returns {Map<string, string | null> | null} positions by name; null: it is not a position of these subjects
 */
export function decodeSeveral (subjects, text, definitions) {
  const bytes = Buffer.from(text, 'base64url')
  const sorted = inOrder(subjects)
  if (text.length > MAX_POSITION || bytes.length < REST_AT || bytes[0] !== KIND || bytes.toString('base64url') !== text) return null
  if (bytes.readUInt32BE(SUM_AT) !== checksum(sorted, bytes)) return null
  try {
    return readSeveral(sorted, bytes, definitions)
  } catch (error) {
    // the checksum is not a secret
    if (error instanceof RangeError) return null
    throw error
  }
}

/**
 * @param {readonly Subject[]} sorted @param {Buffer} bytes
 * @param {ReadonlyMap<string, import('../feeds/index.js').Definition | null>} definitions
 */
function readSeveral (sorted, bytes, definitions) {
  const readMs = bytes.readUIntBE(READ_AT, TIME_BYTES)
  const from = { bytes, at: REST_AT }
  /** @type {Map<string, string | null>} */
  const positions = new Map()
  for (const { name, isFeed } of sorted) {
    const size = take(from)
    if (size > bytes.length - from.at) throw new RangeError('longer than the position')
    if (size === 0) positions.set(name, null)
    else if (!isFeed) positions.set(name, bytes.toString('utf8', from.at, from.at += size))
    else {
      const created = bytes.readUInt32BE(from.at)
      from.at += 4
      const offsets = Array.from({ length: size }, () => {
        const ms = readMs + unzigzag(take(from))
        const last = take(from)
        return { ms, n: Math.floor(last / 2), versions: 0, isEnd: last % 2 === 1 }
      })
      positions.set(name, feedPosition(name, { readMs, offsets }, created, definitions.get(name)))
    }
  }
  if (from.at !== bytes.length) throw new RangeError('shorter than the position')
  return positions
}

/**
 * @param {string} feed @param {import('./position.js').LogPosition} position @param {number} created mod 2^32
 * @param {import('../feeds/index.js').Definition | null} [definition] as it is now; without it the position is of an earlier feed
 */
function feedPosition (feed, position, created, definition) {
  const createdMs = definition ? createdMsOf(definition) : created
  return encodeOffsets(feed, position, createdMs % CREATED_MOD === created ? createdMs : created)
}

/** @template {Subject} S @param {readonly S[]} subjects */
const inOrder = (subjects) => [...subjects].sort((a, b) => a.name < b.name ? -1 : 1)

/** @param {readonly Subject[]} sorted @param {Buffer} bytes */
const checksum = (sorted, bytes) => crc32(bytes.subarray(READ_AT), crc32(sorted.map(({ name }) => name).join('\n')))

/** @param {number} n */
const zigzag = (n) => n < 0 ? -2 * n - 1 : 2 * n
/** @param {number} n */
const unzigzag = (n) => n % 2 === 1 ? -(n + 1) / 2 : n / 2

/** @param {number[]} into @param {number} n 0 <= n < 2^53 */
function put (into, n) {
  while (n >= 128) {
    into.push(n % 128 + 128)
    n = Math.floor(n / 128)
  }
  into.push(n)
}

/** @param {{ bytes: Buffer, at: number }} from @returns {number} */
function take (from) {
  let n = 0
  for (let unit = 1; ; unit *= 128) {
    const byte = from.bytes.readUInt8(from.at++)
    n += byte % 128 * unit
    if (byte < 128) return n
  }
}
