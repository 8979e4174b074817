/**
 * Other structures than the layouts have, for question 009: the items themselves, a version an element, written as a good
 * engineer would, with one variadic command for a batch. Bytes are spelt as those of the layouts and sent over the same
 * connection, so that only the server's work differs. Where nothing else is said an element is an item as it lies in a
 * segment (item/segment.js).
 *
 *     list            LPUSH list <item> ...; LTRIM list 0 maxItems-1             newest first as they came; no way to an id
 *     list-hll        the same; PFADD hll:<minute> <id> ...; PEXPIRE             and how many ids a minute had, about
 *     set             SADD set:<minute> <item> ...; PEXPIRE                      no order: whoever asks sorts a minute
 *     segments-zset   ZADD segments <order of the first> <segment>; ZREMRANGEBYSCORE     newest first by batches
 *
 * A batch belongs to the minute in which its first item was due. What a minute is for is kept for another one after the
 * window. Commands of a batch are pipelined without a transaction: only the first stores items.
 */
import { scoreOf } from '../../item/order.js'
import { WRITER_BYTES } from '../../item/origin.js'
import { ITEM_HEAD_BYTES, SEGMENT_HEAD_BYTES, writeItem, writeSegmentHead } from '../../item/segment.js'
import { partitionKey } from '../../feeds/keys.js'
import { Wire, argument, bulk, command, wholeCommand } from '../../layouts/wire.js'
import { openConnection } from '../../store/connection.js'
import { LOST_AFTER_MS, driveBatches } from './drive.js'

export const MINUTE_MS = 60_000
/** of an argument: its length in digits, line ends; and an id */
const ARGUMENT_ROOM = 16
const ID_ROOM = 128

/** @typedef {import('./source.js').Item} Item */
/** @typedef {{ key: (part: string) => string, settings: import('./run.js').Settings, index: number }} Place */
/** @typedef {(count: number, next: () => Item) => { bytes: Buffer, replies: number }} Spell a batch; the bytes are new each time */

/**
 * @typedef {object} Structure
 * @property {string} does
 * @property {import('../inventory.js').Storage} storage
 * @property {readonly ('windowMs' | 'maxItems')[]} bounds
 * @property {(place: Place) => Spell} spelling
 */

/** @param {(place: Place) => { each?: (item: Item) => void, commands: (minute: number) => (string | number)[][] }} more of a batch */
const listWith = (more) => /** @type {Structure['spelling']} */ (place) => {
  const { key, settings: { valueBytes, maxItems } } = place
  const trim = maxItems > 0 ? [wholeCommand('LTRIM', key('list'), 0, maxItems - 1)] : []
  const { each = () => {}, commands } = more(place)
  const elements = createElements(valueBytes)
  return (count, next) => {
    const minute = elements.write(count, next, each)
    const others = commands(minute).map((words) => wholeCommand(...words))
    return { bytes: Buffer.concat([command(2 + count, 'LPUSH', key('list')), elements.written(), ...trim, ...others]), replies: 1 + trim.length + others.length }
  }
}

/** @type {Readonly<Record<string, Structure>>} */
export const STRUCTURES = Object.freeze({
  list: {
    does: 'one LPUSH of whole items per batch, and LTRIM',
    storage: 'list',
    bounds: ['maxItems'],
    spelling: listWith(() => ({ commands: () => [] }))
  },
  'list-hll': {
    does: 'one LPUSH of whole items per batch, LTRIM, and a PFADD of their ids to the HyperLogLog of the minute',
    storage: 'list-hll',
    bounds: ['maxItems'],
    spelling: listWith(({ key, settings }) => {
      /** @type {string[]} */
      let ids = []
      return {
        each: ({ id }) => { ids.push(id.toString('latin1')) },
        commands (minute) {
          const counted = ids
          ids = []
          return [['PFADD', key(`hll:${minute}`), ...counted], ['PEXPIRE', key(`hll:${minute}`), keptMs(settings)]]
        }
      }
    })
  },
  set: {
    does: 'one SADD of whole items per batch to the set of the minute',
    storage: 'set',
    bounds: ['windowMs'],
    spelling ({ key, settings }) {
      const elements = createElements(settings.valueBytes)
      return (count, next) => {
        const name = key(`set:${elements.write(count, next)}`)
        return { bytes: Buffer.concat([command(2 + count, 'SADD', name), elements.written(), wholeCommand('PEXPIRE', name, keptMs(settings))]), replies: 2 }
      }
    }
  },
  'segments-zset': {
    does: 'one ZADD per batch, of a segment with the order of its first item, and a ZREMRANGEBYSCORE of what is older than the window',
    storage: 'segments-zset',
    bounds: ['windowMs'],
    spelling: spellSegments
  }
})

/** How long what belongs to a minute is kept. @param {import('./run.js').Settings} settings */
const keptMs = ({ windowMs, maxFutureMs }) => windowMs + maxFutureMs + 2 * MINUTE_MS

/** Items as arguments of a command. @param {number} valueBytes */
function createElements (valueBytes) {
  const wire = new Wire(64 * 1024)
  const itemRoom = ARGUMENT_ROOM + ITEM_HEAD_BYTES + ID_ROOM + valueBytes
  return {
    /** @param {number} count @param {() => Item} next @param {(item: Item) => void} [each] @returns {number} the minute of the first */
    write (count, next, each = () => {}) {
      let firstTs = -1
      wire.reset()
      for (let i = 0; i < count; i++) {
        const item = next()
        const { id, ts, seq, value } = item
        if (firstTs < 0) firstTs = ts
        wire.reserve(itemRoom)
        wire.bulkHead(ITEM_HEAD_BYTES + id.length + value.length)
        wire.length = writeItem(wire.bytes, wire.length, id, ts, seq, value, false)
        wire.end()
        each(item)
      }
      return Math.floor(firstTs / MINUTE_MS)
    },
    written: () => wire.written()
  }
}

/** @type {Structure['spelling']} */
function spellSegments ({ key, settings: { valueBytes, windowMs }, index }) {
  const writer = Buffer.alloc(WRITER_BYTES)
  writer.writeUInt32BE(process.pid)
  writer.writeUInt32BE(index, 4)
  const wire = new Wire(64 * 1024)
  let sequence = 0
  return (count, next) => {
    let [firstTs, lastTs, score] = [Infinity, 0, -1]
    wire.length = SEGMENT_HEAD_BYTES
    for (let i = 0; i < count; i++) {
      const { id, ts, seq, value } = next()
      wire.reserve(ITEM_HEAD_BYTES + ID_ROOM + valueBytes)
      wire.length = writeItem(wire.bytes, wire.length, id, ts, seq, value, false)
      firstTs = Math.min(firstTs, ts)
      lastTs = Math.max(lastTs, ts)
      if (score < 0) score = scoreOf(ts, seq)
    }
    writeSegmentHead(wire.bytes, 0, wire.length, { count, firstTs, lastTs, stamp: Math.floor(Date.now() * 1000), writer, epoch: 1, sequence: ++sequence })
    const trim = windowMs > 0 ? [wholeCommand('ZREMRANGEBYSCORE', key('segments'), '-inf', `(${lastTs - windowMs}`)] : []
    return { bytes: Buffer.concat([command(4, 'ZADD', key('segments')), Buffer.from(argument(score)), bulk(wire.written()), ...trim]), replies: 1 + trim.length }
  }
}

/**
 * @param {Structure} structure
 * @param {Parameters<import('./index.js').Load['open']>[0]} parts
 * @returns {Promise<import('./index.js').Opened>}
 */
export async function openStructure ({ spelling }, parts) {
  const { settings, redisUrl, index } = parts
  const connection = await openConnection(redisUrl, { name: `freshet-load-${process.pid}`, deadlineMs: LOST_AFTER_MS })
  const spell = spelling({ key: partitionKey(settings.keyPrefix, settings.feed, 0), settings, index })
  return driveBatches(parts, {
    async send (count, next) {
      await connection.sendEncoded(spell(count, next))
      return count
    },
    close: () => connection.close()
  })
}
