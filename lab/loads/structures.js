/**
 * Structures that the layouts do not use, for experiment 009: whole items, one version an element, written with one variadic
 * command for each batch. Bytes are encoded as those of the layouts and sent over the same connection, so that only the
 * server's work differs. Unless noted, an element is an item as encoded in a segment (item/segment.js).
 *
 *     list            LPUSH list <item> ...; LTRIM list 0 maxItems-1             newest first by arrival; no access by id
 *     list-hll        the same; PFADD hll:<minute> <id> ...; PEXPIRE             and an estimate of the ids of a minute
 *     set             SADD set:<minute> <item> ...; PEXPIRE                      no order: readers sort a minute
 *     segments-zset   ZADD segments <order of the first> <segment>; ZREMRANGEBYSCORE     newest first by batches
 *
 * A batch belongs to the minute in which its first item was due. Keys of a minute are kept for one more minute after the window.
 * The commands of a batch are pipelined without a transaction: only the first stores items.
 */
import { ITEM_HEAD_BYTES, scoreOf, SEGMENT_HEAD_BYTES, writeItem, WRITER_BYTES, writeSegmentHead } from '../../src/item/index.js'
import { onlyKey } from '../../src/feeds/index.js'
import { argument, bulk, command, wholeCommand, Wire } from '../../src/layouts/index.js'
import { openConnection } from '../../src/store/index.js'
import { LOST_AFTER_MS, driveBatches } from './drive.js'

export const MINUTE_MS = 60_000
/** bytes of an argument's length and line ends */
const ARGUMENT_ROOM = 16
const ID_ROOM = 128

/** @typedef {import('./source.js').Item} Item */
/** @typedef {{ key: (part: string) => string, settings: import('./run.js').Settings, index: number }} Target */
/** @typedef {(count: number, next: () => Item) => { bytes: Buffer, replies: number }} Encode a batch, into new bytes */

/**
 * @typedef {object} Structure
 * @property {string} does
 * @property {import('../content/inventory.js').Storage} storage
 * @property {readonly ('windowMs' | 'maxItems')[]} bounds
 * @property {(target: Target) => Encode} encoder
 */

/**
 * @param {(target: Target) => { each?: (item: Item) => void, commands: (minute: number) => (string |
 *   number)[][] }} more further commands of a batch
 */
const listWith = (more) => /** @type {Structure['encoder']} */ (target) => {
  const { key, settings: { valueBytes, maxItems } } = target
  const trim = maxItems > 0 ? [wholeCommand('LTRIM', key('list'), 0, maxItems - 1)] : []
  const { each = () => {}, commands } = more(target)
  const elements = createElements(valueBytes)
  return (count, next) => {
    const minute = elements.write(count, next, each)
    const others = commands(minute).map((words) => wholeCommand(...words))
    return {
      bytes: Buffer.concat([command(2 + count, 'LPUSH', key('list')), elements.written(), ...trim, ...others]),
      replies: 1 + trim.length + others.length
    }
  }
}

/** @type {Readonly<Record<string, Structure>>} */
export const STRUCTURES = Object.freeze({
  list: {
    does: 'one LPUSH of whole items per batch, and LTRIM',
    storage: 'list',
    bounds: ['maxItems'],
    encoder: listWith(() => ({ commands: () => [] }))
  },
  'list-hll': {
    does: 'one LPUSH of whole items per batch, LTRIM, and a PFADD of their ids to the HyperLogLog of the minute',
    storage: 'list-hll',
    bounds: ['maxItems'],
    encoder: listWith(({ key, settings }) => {
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
    encoder ({ key, settings }) {
      const elements = createElements(settings.valueBytes)
      return (count, next) => {
        const name = key(`set:${elements.write(count, next)}`)
        return {
          bytes: Buffer.concat([command(2 + count, 'SADD', name), elements.written(), wholeCommand('PEXPIRE', name, keptMs(settings))]),
          replies: 2
        }
      }
    }
  },
  'segments-zset': {
    does: 'one ZADD per batch, of a segment with the order of its first item, and a ZREMRANGEBYSCORE of what is older than the window',
    storage: 'segments-zset',
    bounds: ['windowMs'],
    encoder: encodeSegments
  }
})

/** Expiry of the keys of a minute. @param {import('./run.js').Settings} settings */
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

/** @type {Structure['encoder']} */
function encodeSegments ({ key, settings: { valueBytes, windowMs }, index }) {
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
    writeSegmentHead(wire.bytes, 0, wire.length,
      { count, firstTs, lastTs, stamp: Math.floor(Date.now() * 1000), writer, epoch: 1, sequence: ++sequence })
    const trim = windowMs > 0 ? [wholeCommand('ZREMRANGEBYSCORE', key('segments'), '-inf', `(${lastTs - windowMs}`)] : []
    return {
      bytes: Buffer.concat([command(4, 'ZADD', key('segments')), Buffer.from(argument(score)), bulk(wire.written()), ...trim]),
      replies: 1 + trim.length
    }
  }
}

/**
 * @param {Structure} structure
 * @param {Parameters<import('./index.js').Load['open']>[0]} parts
 * @returns {Promise<import('./index.js').Opened>}
 */
export async function openStructure ({ encoder }, parts) {
  const { settings, redisUrl, index } = parts
  const connection = await openConnection(redisUrl, { name: `freshet-load-${process.pid}`, deadlineMs: LOST_AFTER_MS })
  const encode = encoder({ key: onlyKey(settings.keyPrefix, settings.feed), settings, index })
  return driveBatches(parts, {
    async send (count, next) {
      await connection.sendEncoded(encode(count, next))
      return count
    },
    close: () => connection.close()
  })
}
