/**
 * Loads that lie, or cannot be believed, each in a way that is easily written (L15). They write what storage `ids` holds, or
 * `stream` where they are of a log, with the machinery of the lab's own loads; the lab has to find every one of them out.
 * `healthy` is the control.
 *
 * @typedef {import('../../../lab/loads/index.js').Load} Load
 * @typedef {(write: (items: Written[]) => Promise<unknown>, items: Written[]) => Promise<number>} Deliver answers how many
 *   count as acknowledged
 * @typedef {{ n: number, commands: (string | number | Buffer)[][] }} Written
 */
import { onlyKey } from '../../../src/feeds/keys.js'
import { scoreOf } from '../../../src/item/order.js'
import { driveBatches } from '../../../lab/loads/drive.js'
import { openConnection } from '../../../src/store/connection.js'
import { entryOf, recordOf } from '../content.js'

/** @type {() => Deliver} */
const deliverAll = () => async (write, items) => {
  await write(items)
  return items.length
}

/** @typedef {{ n: number, id: Buffer, ts: number, seq: number, score: number, value: Buffer }} Item */
/** @typedef {(key: (part: string) => string, item: Item) => Written['commands']} CommandsOf */

/** @type {CommandsOf} */
const idsOf = (key, { id, ts, seq, score, value }) =>
  [['SET', `${key('item:')}${id}`, recordOf({ ts, seq, value })], ['ZADD', key('ids'), score, id]]

/** @type {CommandsOf} */
const logOf = (key, item) => [['XADD', key('stream'), '*', 'v', entryOf(item)]]

/**
 * @param {() => Deliver} begin makes one for a run
 * @param {(value: Buffer) => Buffer} [valueOf] what is stored for a value
 * @param {CommandsOf} [commandsOf]
 * @returns {Load}
 */
const loadThat = (begin, valueOf = (value) => value, commandsOf = idsOf) => ({
  does: 'what it does is a lie',
  storage: () => commandsOf === idsOf ? 'ids' : 'stream',
  bounds: [],
  async open (parts) {
    const { settings, redisUrl } = parts
    const key = onlyKey(settings.keyPrefix, settings.feed)
    const connection = await openConnection(redisUrl, { name: 'freshet-mutant', deadlineMs: 60_000 })
    const write = (/** @type {Written[]} */ items) => connection.sendAll(items.flatMap(({ commands }) => commands))
    const deliver = begin()
    let n = 0
    return driveBatches(parts, {
      async send (count, next) {
        const items = Array.from({ length: count }, () => {
          const { id, ts, seq, value } = next()
          return { n: ++n, commands: commandsOf(key, { n, id, ts, seq, score: scoreOf(ts, seq), value: valueOf(value) }) }
        })
        return deliver(write, items)
      },
      close: () => connection.close()
    })
  }
})

/** @type {Record<string, Load>} */
export const MUTANTS = {
  healthy: loadThat(deliverAll),

  /** One item of a thousand is not written, and counts: of another id each time. */
  drops: loadThat(() => async (write, items) => {
    await write(items.filter(({ n }) => n % 999 !== 500))
    return items.length
  }),

  /** A batch counts when it is made, and is written when the next one is. */
  'answers early': loadThat(() => {
    /** @type {Written[] | null} */
    let waiting = null
    return async (write, items) => {
      if (waiting) write(waiting).catch(() => {})
      waiting = items
      return items.length
    }
  }),

  /** The same answer counts twice. */
  'counts twice': loadThat(() => async (write, items) => {
    await write(items)
    return 2 * items.length
  }),

  /** An answer counts for one batch more than was sent. */
  'counts one batch more': loadThat(() => {
    let isFirst = true
    return async (write, items) => {
      await write(items)
      const counted = isFirst ? 2 * items.length : items.length
      isFirst = false
      return counted
    }
  }),

  /** Items are there, with nothing in them. */
  'writes empty values': loadThat(deliverAll, () => Buffer.alloc(0)),

  /** As many bytes as values have, and none of theirs. */
  'writes garbage': loadThat(deliverAll, (value) => Buffer.alloc(value.length, 'x')),

  'healthy log': loadThat(deliverAll, undefined, logOf),

  /** One version of a thousand is not written, and counts; a newer one of its id is. */
  'log that drops': loadThat(() => async (write, items) => {
    await write(items.filter(({ n }) => n % 999 !== 500))
    return items.length
  }, undefined, logOf),

  /** Everything is written again, as another writing. */
  'log that writes twice': loadThat(() => async (write, items) => {
    await write(items)
    return items.length
  }, undefined, (key, item) => [...logOf(key, item), ...logOf(key, { ...item, n: 1e6 + item.n })]),

  /** Everything is there, in the order of a pack of cards. */
  'log with wrong times': loadThat(deliverAll, undefined, (key, item) => logOf(key, { ...item, ts: item.ts - (item.n % 3) * 1000 })),

  /** Its process is busy with something else nine tenths of the time. */
  starved: loadThat(() => async (write, items) => {
    const until = performance.now() + 90
    while (performance.now() < until);
    await write(items)
    return items.length
  })
}

/** The figures of a run whose columns were mixed up. @param {any} summary */
export const withSwappedPercentiles = (summary) =>
  ({ ...summary, behindMs: { ...summary.behindMs, p50: summary.behindMs.p99, p99: summary.behindMs.p50 } })
