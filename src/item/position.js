/**
 * A position is opaque text for a place in order of arrival, where a subscription resumes.
 *
 *     kind 2 | crc32 of feed name and all that follows, 4 bytes | 48 bit, creation of the feed, ms | rest      as base64url
 *
 *     48 bit, ms, then for each partition: 48 bit and 32 bit, an entry's id | 1 bit, read to its end | 31 bit, versions
 *
 * It names the last entry delivered, or, with versions above 0, how many versions of that entry were delivered.
 * `ms` is the reader's time at which partitions marked "read to its end" were read.
 *
 * The checksum is not a secret, as with cursors. A position of another kind, for example after a change of layout, is
 * invalid. A position of a feed that was dropped and created again is expired.
 */
import { crc32 } from 'node:zlib'
import { FreshetError } from '../errors.js'

/**
 * The position of a stream of several subjects, feeds and keys of systems, as one text: the position of each, or none.
 *
 *     kind 3 | crc32 of the names and all that follows, 4 bytes | 48 bit, the earliest time at which one was read, ms | subjects
 *
 *     a feed   number of partitions, 0 = no position, 257 = none yet, of a feed that exists
 *              | 32 bit, creation of the feed, ms mod 2^32 | for each partition:
 *              ms of the entry less the time above, zigzag | number of the entry, twice, + 1 if it was read to its end
 *     a key    bytes of its position, 0 = none | these
 *
 * Numbers without a size are of 7 bits a byte, the lowest first (LEB128). Subjects are in the order of their names, which the text does not
 * have: a position is of exactly these. A partition of a feed takes at most 16 bytes, so 256 of them fit into 6 KiB of base64url.
 *
 * @typedef {{ name: string, isFeed: boolean }} Subject `name`: of a feed, such as `latest`, or of a key: `auction:lamp`
 */

const KIND = 3
const SEVERAL_SUM_AT = 1
const READ_AT = 5
const SEVERAL_REST_AT = 11
const CREATED_MOD = 2 ** 32
/** In place of a number of partitions, which is lower. */
const UNSETTLED = 257
/** At most, of a partition, with what comes once for its feed. */
const PARTITION_BYTES = 16
/** characters */
export const MAX_POSITION = 6 * 1024

/** Bytes of a position of several feeds that have so many partitions together, at most. @param {number} partitions */
export const longestSeveral = (partitions) => SEVERAL_REST_AT + PARTITION_BYTES * partitions

/**
 * @param {readonly (Subject & { position: string | null, isWaiting?: boolean })[]} subjects each with its own position; `isWaiting`: its
 *   feed does not exist
 * @returns {string}
 */
export function encodeSeveral (subjects) {
  const sorted = inOrder(subjects)
  const feeds = new Map(sorted.flatMap(({ name, isFeed, position }) => isFeed && position ? [[name, readOffsets(position)]] : []))
  const readMs = Math.min(...[...feeds.values()].map((offsets) => offsets.readMs), 2 ** 48 - 1)
  /** @type {number[]} */
  const rest = []
  for (const { name, isFeed, position, isWaiting = false } of sorted) {
    const read = feeds.get(name)
    if (!isFeed) {
      const text = Buffer.from(position ?? '')
      put(rest, text.length)
      rest.push(...text)
    } else if (read === undefined) put(rest, isWaiting ? 0 : UNSETTLED)
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
  const bytes = Buffer.alloc(SEVERAL_REST_AT + rest.length)
  bytes[0] = KIND
  bytes.writeUIntBE(readMs, READ_AT, TIME_BYTES)
  bytes.set(rest, SEVERAL_REST_AT)
  bytes.writeUInt32BE(severalChecksum(sorted, bytes), SEVERAL_SUM_AT)
  return bytes.toString('base64url')
}

/**
 * @param {readonly Subject[]} subjects in any order @param {string} text
 * @param {ReadonlyMap<string, import('../feeds/index.js').Definition | null>} definitions of feeds that exist
 * @returns {Map<string, string | null> | null} positions by name, null = its feed did not exist, none = it had no position yet; null: it
 *   is not a position of these subjects
 */
export function decodeSeveral (subjects, text, definitions) {
  const bytes = Buffer.from(text, 'base64url')
  const sorted = inOrder(subjects)
  if (text.length > MAX_POSITION || bytes.length < SEVERAL_REST_AT || bytes[0] !== KIND || bytes.toString('base64url') !== text) return null
  if (bytes.readUInt32BE(SEVERAL_SUM_AT) !== severalChecksum(sorted, bytes)) return null
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
  const from = { bytes, at: SEVERAL_REST_AT }
  /** @type {Map<string, string | null>} */
  const positions = new Map()
  for (const { name, isFeed } of sorted) {
    const size = take(from)
    if (isFeed && size === UNSETTLED) continue
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
 * @param {string} feed @param {LogPosition} position @param {number} created mod 2^32
 * @param {import('../feeds/index.js').Definition | null} [definition] as it is now; without it the position is of an earlier feed
 */
function feedPosition (feed, position, created, definition) {
  const createdMs = definition ? createdMsOf(definition) : created
  return encodeOffsets(feed, position, createdMs % CREATED_MOD === created ? createdMs : created)
}

/** @template {Subject} S @param {readonly S[]} subjects */
const inOrder = (subjects) => [...subjects].sort((a, b) => a.name < b.name ? -1 : 1)

/** @param {readonly Subject[]} sorted @param {Buffer} bytes */
const severalChecksum = (sorted, bytes) => crc32(bytes.subarray(READ_AT), crc32(sorted.map(({ name }) => name).join('\n')))

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

const BY_OFFSET = 2
const SUM_AT = 1
const CREATED_AT = 5
const REST_AT = 11
const TIME_BYTES = 6
const OFFSET_BYTES = 14
const IS_END = 0x80000000
const MAX_VERSIONS = 0x7fffffff

/**
 * @typedef {{ ms: number, n: number, versions: number, isEnd: boolean }} LogOffset `ms` and `n`: of the entry `<ms>-<n>`, both 0
 *   = before all entries; `versions`: delivered versions of that entry, 0 = all; `isEnd`: it was the last entry at `readMs`
 * @typedef {{ readMs: number, offsets: LogOffset[] }} LogPosition
 */

/** @param {string} feed @param {LogPosition} position @param {number} [createdMs] of the feed @returns {string} */
export function encodeOffsets (feed, { readMs, offsets }, createdMs = 0) {
  const bytes = Buffer.alloc(REST_AT + TIME_BYTES + offsets.length * OFFSET_BYTES)
  let at = bytes.writeUIntBE(readMs, REST_AT, TIME_BYTES)
  for (const { ms, n, versions, isEnd } of offsets) {
    at = bytes.writeUIntBE(ms, at, TIME_BYTES)
    at = bytes.writeUInt32BE(n, at)
    at = bytes.writeUInt32BE(versions + (isEnd ? IS_END : 0), at)
  }
  return encoded(feed, BY_OFFSET, bytes, createdMs)
}

/**
 * @param {string} feed
 * @param {string} text
 * @param {number} partitions of the feed
 * @returns {LogPosition}
 * @throws {FreshetError} POSITION_INVALID
 */
export const decodeOffsets = (feed, text, partitions) =>
  offsetsIn(decoded(feed, BY_OFFSET, text, TIME_BYTES + partitions * OFFSET_BYTES), partitions)

/** @param {Buffer} bytes @param {number} partitions @returns {LogPosition} */
function offsetsIn (bytes, partitions) {
  const offsets = Array.from({ length: partitions }, (_, i) => {
    const at = REST_AT + TIME_BYTES + i * OFFSET_BYTES
    const last = bytes.readUInt32BE(at + 10)
    return {
      ms: bytes.readUIntBE(at, TIME_BYTES), n: bytes.readUInt32BE(at + TIME_BYTES), versions: last & MAX_VERSIONS, isEnd: last >= IS_END
    }
  })
  return { readMs: bytes.readUIntBE(REST_AT, TIME_BYTES), offsets }
}

/** Of the feed of a position that was encoded here. @param {string} text */
export const partitionsIn = (text) => (Math.floor(text.length * 3 / 4) - REST_AT - TIME_BYTES) / OFFSET_BYTES

/**
 * A position that was encoded here, of any feed.
 * @param {string} text @returns {LogPosition & { createdMs: number }}
 */
export function readOffsets (text) {
  const bytes = Buffer.from(text, 'base64url')
  return { createdMs: bytes.readUIntBE(CREATED_AT, TIME_BYTES), ...offsetsIn(bytes, partitionsIn(text)) }
}

/**
 * Whether it is a position of a feed of that name, perhaps with another layout or number of partitions than now.
 * @param {string} feed @param {string} text
 */
export function isPositionOf (feed, text) {
  const bytes = Buffer.from(String(text), 'base64url')
  return bytes.length > REST_AT && bytes[0] === BY_OFFSET &&
    bytes.toString('base64url') === text && bytes.readUInt32BE(SUM_AT) === checksum(feed, bytes)
}

/** Creation time of a feed, for its positions. @param {{ createdAt: string }} definition @returns {number} ms since 1970 */
export const createdMsOf = ({ createdAt }) => Math.max(0, Date.parse(createdAt)) || 0

/**
 * @param {import('../feeds/index.js').Definition} definition @param {string} text a position of a feed of that name
 * @throws {FreshetError} POSITION_EXPIRED
 */
export function checkCreation (definition, text) {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.readUIntBE(CREATED_AT, TIME_BYTES) === createdMsOf(definition)) return
  throw new FreshetError('POSITION_EXPIRED',
    `the position in feed ${definition.feed} is expired: the feed was dropped and created again; start without a position`)
}

/** @param {string} feed @param {number} kind @param {Buffer} bytes with room for the head @param {number} createdMs @returns {string} */
function encoded (feed, kind, bytes, createdMs) {
  bytes[0] = kind
  bytes.writeUIntBE(createdMs, CREATED_AT, TIME_BYTES)
  bytes.writeUInt32BE(checksum(feed, bytes), SUM_AT)
  return bytes.toString('base64url')
}

/** @param {string} feed @param {number} kind @param {string} text @param {number} length of the rest @returns {Buffer} */
function decoded (feed, kind, text, length) {
  const bytes = Buffer.from(String(text), 'base64url')
  if (bytes.length !== REST_AT + length || bytes[0] !== kind || !isPositionOf(feed, text)) throw invalid(feed)
  return bytes
}

/** @param {string} feed */
const invalid = (feed) =>
  new FreshetError('POSITION_INVALID', `not a position of feed ${feed}; expected the "position" of an earlier change, unchanged`)

/** @param {string} feed @param {Buffer} bytes */
const checksum = (feed, bytes) => crc32(bytes.subarray(CREATED_AT), crc32(feed))
