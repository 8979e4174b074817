/**
 * Writes batches of layout `ids` in one of the forms of append-forms.js. Bytes are encoded in the same way and sent over the same
 * connection, so that only the server's work differs.
 */
import { FreshetError } from '../errors.js'
import { RECORD_HEAD_BYTES, writeRecordHead } from '../../src/item/index.js'
import { expiryMs, onlyKey } from '../../src/feeds/index.js'
import { argument, command, createScoreText, Wire } from '../../src/layouts/index.js'
import { openConnection } from '../../src/store/index.js'
import { LOST_AFTER_MS, driveBatches } from './drive.js'

const SET = command(5, 'SET')
/** bytes of an item besides key and value: score, lengths, line ends, expiry, and the fixed words of EVALSHA */
const ITEM_BUDGET = 256

/** @typedef {import('./append-forms.js').Form} Form */
/** @typedef {import('./source.js').Item} Item */
/** @typedef {ReturnType<typeof createEncoder>} Encoder */

/**
 * Encodes the parts of an item: `items` and `members` are byte runs, joined when the batch is complete.
 * @param {Wire} items
 * @param {Wire} members
 * @param {{ key: (part: string) => string, ttlMs: number }} how
 */
function createEncoder (items, members, { key, ttlMs }) {
  const prefix = Buffer.from(key('item:'))
  const expiryBytes = Buffer.from(argument('PX') + argument(ttlMs))
  const writeScore = createScoreText()

  /** @param {Wire} wire @param {Item} item */
  function writeRecord (wire, { ts, seq, value }) {
    wire.bulkHead(RECORD_HEAD_BYTES + value.length)
    wire.length = writeRecordHead(wire.bytes, wire.length, ts, seq)
    wire.long(value)
    wire.end()
  }

  return {
    idsKey: key('ids'),
    prefixBytes: prefix.length,
    ttlMs,
    zadd: (/** @type {number} */ count) => command(2 + 2 * count, 'ZADD', key('ids')),
    bytes: (/** @type {Buffer} */ part) => items.short(part),
    set: () => items.short(SET),
    expiry: () => items.short(expiryBytes),
    /** @param {Item} item */
    key ({ id }) {
      items.bulkHead(prefix.length + id.length)
      items.short(prefix)
      items.short(id)
      items.end()
    },
    record: (/** @type {Item} */ item) => writeRecord(items, item),
    recordOfMember: (/** @type {Item} */ item) => writeRecord(members, item),
    scoreOfItem: (/** @type {Item} */ { ts, seq }) => writeScore(items, ts, seq),
    score: (/** @type {Item} */ { ts, seq }) => writeScore(members, ts, seq),
    /** @param {Item} item */
    member ({ id, ts, seq }) {
      writeScore(members, ts, seq)
      members.bulkHead(id.length)
      members.short(id)
      members.end()
    }
  }
}

/**
 * @param {Form} form
 * @param {Parameters<import('./index.js').Load['open']>[0]} parts
 * @returns {Promise<import('./index.js').Opened>}
 */
export async function openAppends (form, parts) {
  const { settings, redisUrl } = parts
  const key = onlyKey(settings.keyPrefix, settings.feed)
  const ttlMs = expiryMs(settings, settings.maxFutureMs)
  if (ttlMs === 0) throw new FreshetError('LOAD_FAILED', 'windowMs 0: items of this load need an expiry; expected a window above 0')
  const connection = await openConnection(redisUrl, { name: `freshet-load-${process.pid}`, deadlineMs: LOST_AFTER_MS })
  let name = ''
  try {
    name = await form.prepare?.(connection) ?? ''
  } catch (error) {
    connection.close()
    throw error
  }
  const itemBytes = settings.valueBytes + ITEM_BUDGET + 2 * key('item:').length
  /** @type {{ items: Wire, members: Wire, encode: ReturnType<Form['encode']> }[]} */
  const spare = []

  function newWires () {
    const [items, members] = [new Wire(itemBytes), new Wire(itemBytes)]
    return { items, members, encode: form.encode(createEncoder(items, members, { key, ttlMs }), name) }
  }

  return driveBatches(parts, {
    async send (count, next) {
      const wires = spare.pop() ?? newWires()
      const { items, members, encode } = wires
      const { head, middle, tail, replies } = encode.frame(count)
      items.reset()
      members.reset()
      items.reserve(head.length + middle.length + tail.length)
      items.long(head)
      for (let i = 0; i < count; i++) {
        const item = next()
        items.reserve(itemBytes)
        members.reserve(itemBytes)
        encode.items(item)
        encode.members(item)
      }
      for (const part of [middle, members.written(), tail]) {
        items.reserve(part.length)
        items.long(part)
      }
      await connection.sendEncoded({ bytes: items.written(), replies })
      spare.push(wires)
      return count
    },
    close: async () => connection.close()
  })
}
