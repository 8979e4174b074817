/**
 * Ways to write the same batch of layout `ids`, for experiment 008 (Lua or plain commands?): each item is a key with its record
 * and expiry, and all are members of one sorted set. Bytes are encoded in the same way and sent over the same connection, so
 * that only the server's work differs:
 *
 *     pipelined-commands   SET item:<id> record PX ttl, n times; ZADD ids score <id> ...        not atomic
 *     multi-commands       the same between MULTI and EXEC
 *     msetex               MULTI; MSETEX n item:<id> record ... PX ttl; ZADD; EXEC
 *     msetex-two-sets      the same with one more ZADD, to `ids-2` (experiment 004)
 *     script-per-batch     EVALSHA with all item keys, scores and records (lua/append-batch.lua)
 *     script-per-item      EVALSHA, n times (lua/append-item.lua)                               atomic for each item
 *     function-per-batch   FCALL of the body of script-per-batch
 *
 * The layout's own batch (src/layouts/ids-batch.js) is like msetex, or multi-commands where the server lacks MSETEX, and also
 * sets the expiry of the sorted set.
 */
import { FreshetError } from '../errors.js'
import { RECORD_HEAD_BYTES, writeRecordHead } from '../../src/item/index.js'
import { expiryMs, partitionKey } from '../../src/feeds/index.js'
import { argument, command, createScoreText, wholeCommand, Wire } from '../../src/layouts/index.js'
import { capabilities, openConnection } from '../../src/store/index.js'
import { librariesOf } from '../servers/query.js'
import { LOST_AFTER_MS, driveBatches } from './drive.js'
import { loadFunction, loadScript } from './scripts.js'

const MULTI = wholeCommand('MULTI')
const EXEC = wholeCommand('EXEC')
const SET = command(5, 'SET')
const NOTHING = Buffer.alloc(0)
/** bytes of an item besides key and value: score, lengths, line ends, expiry, and the fixed words of EVALSHA */
const ITEM_ROOM = 256

/** @typedef {import('../../src/store/index.js').Connection} Connection */
/** @typedef {import('./source.js').Item} Item */

/**
 * @typedef {object} Form
 * @property {string} does
 * @property {(connection: Connection, library: string) => Promise<string>} [prepare] returns the digest or function to call
 * @property {(connection: Connection, library: string) => Promise<unknown>} [leave] undoes `prepare`
 * @property {import('../inventory.js').Storage} [storage] default: ids
 * @property {(encoder: Encoder, name: string) => { items: (item: Item) => void, members: (item: Item) => void,
 *   frame: (count: number) => { head: Buffer, middle: Buffer, again?: Buffer, tail: Buffer, replies: number } }} encode a batch is
 *   head, the `items` part of each, middle, the `members` part of each, with `again` that and the `members` once more, tail
 */

/** @type {Form['encode']} of commands */
const encodeSets = ({ set, key, record, expiry, member, zadd }) => ({
  items (item) {
    set()
    key(item)
    record(item)
    expiry()
  },
  members: member,
  frame: (count) => ({ head: NOTHING, middle: zadd(count), tail: NOTHING, replies: count + 1 })
})

/** @type {Form['encode']} */
const encodeMsetex = ({ key, record, member, zadd, ttlMs }) => ({
  items (item) {
    key(item)
    record(item)
  },
  members: member,
  frame: (count) => ({
    head: Buffer.concat([MULTI, command(4 + 2 * count, 'MSETEX', count)]),
    middle: Buffer.concat([Buffer.from(argument('PX') + argument(ttlMs)), zadd(count)]),
    tail: EXEC,
    replies: 4
  })
})

/** @type {NonNullable<Form['prepare']>} */
async function needMsetex (connection) {
  if ((await capabilities(connection)).msetex) return ''
  throw new FreshetError('SERVER_REFUSED',
    `the server at ${connection.address} has no MSETEX, or its user may not use it; this load needs Valkey 9.1 or Redis 8.4, or later`)
}

/** @type {(call: 'EVALSHA' | 'FCALL') => Form['encode']} */
const encodeBatchCall = (call) => ({ key, recordOfMember, score, idsKey, prefixBytes, ttlMs }, name) => ({
  items: key,
  members (item) {
    score(item)
    recordOfMember(item)
  },
  frame: (count) => ({
    head: command(6 + 3 * count, call, name, count + 1, idsKey),
    middle: Buffer.from(argument(prefixBytes) + argument(ttlMs)),
    tail: NOTHING,
    replies: 1
  })
})

/** @type {Readonly<Record<string, Form>>} */
export const APPEND_FORMS = Object.freeze({
  'pipelined-commands': { does: 'a SET for each item and one ZADD, pipelined; no transaction', encode: encodeSets },
  'multi-commands': {
    does: 'a SET for each item and one ZADD, between MULTI and EXEC',
    encode (encoder, name) {
      const { frame, ...parts } = encodeSets(encoder, name)
      return { ...parts, frame: (count) => ({ ...frame(count), head: MULTI, tail: EXEC, replies: count + 3 }) }
    }
  },
  msetex: {
    does: 'one MSETEX and one ZADD, between MULTI and EXEC',
    prepare: needMsetex,
    encode: encodeMsetex
  },
  'msetex-two-sets': {
    does: 'one MSETEX and two ZADD, to two sorted sets, between MULTI and EXEC',
    prepare: needMsetex,
    storage: 'two-sets',
    encode (encoder, name) {
      const { frame, ...parts } = encodeMsetex(encoder, name)
      return { ...parts, frame: (count) => ({ ...frame(count), again: encoder.zadd(count, 'ids-2'), replies: 5 }) }
    }
  },
  'script-per-batch': {
    does: 'one EVALSHA with all items',
    prepare: (connection) => loadScript(connection, 'append-batch'),
    encode: encodeBatchCall('EVALSHA')
  },
  'script-per-item': {
    does: 'an EVALSHA for each item, pipelined',
    prepare: (connection) => loadScript(connection, 'append-item'),
    encode ({ bytes, key, record, scoreOfItem, idsKey, prefixBytes, ttlMs }, name) {
      const head = command(9, 'EVALSHA', name, 2, idsKey)
      const fixed = Buffer.from(argument(prefixBytes) + argument(ttlMs))
      return {
        items (item) {
          bytes(head)
          key(item)
          bytes(fixed)
          scoreOfItem(item)
          record(item)
        },
        members () {},
        frame: (count) => ({ head: NOTHING, middle: NOTHING, tail: NOTHING, replies: count })
      }
    }
  },
  'function-per-batch': {
    does: 'one FCALL of a function with all items',
    async prepare (connection, library) {
      await loadFunction(connection, 'append-batch', library)
      return library
    },
    leave: (connection, library) => connection.send('FUNCTION', 'DELETE', library),
    encode: encodeBatchCall('FCALL')
  }
})

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
    zadd: (/** @type {number} */ count, set = 'ids') => command(2 + 2 * count, 'ZADD', key(set)),
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
  const { settings, redisUrl, index } = parts
  const key = partitionKey(settings.keyPrefix, settings.feed, 0)
  const ttlMs = expiryMs(settings, settings.maxFutureMs)
  if (ttlMs === 0) throw new FreshetError('LOAD_FAILED', 'windowMs 0: items of this load need an expiry; expected a window above 0')
  const library = `${librariesOf(settings.keyPrefix)}${process.pid}_${index}`
  const connection = await openConnection(redisUrl, { name: `freshet-load-${process.pid}`, deadlineMs: LOST_AFTER_MS })
  let name = ''
  try {
    name = await form.prepare?.(connection, library) ?? ''
  } catch (error) {
    connection.close()
    throw error
  }
  const itemBytes = settings.valueBytes + ITEM_ROOM + 2 * key('item:').length
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
      const { head, middle, again, tail, replies } = encode.frame(count)
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
      for (const part of [middle, members.written(), ...again ? [again, members.written()] : [], tail]) {
        items.reserve(part.length)
        items.long(part)
      }
      await connection.sendEncoded({ bytes: items.written(), replies })
      spare.push(wires)
      return count
    },
    async close () {
      await form.leave?.(connection, library)
      connection.close()
    }
  })
}
