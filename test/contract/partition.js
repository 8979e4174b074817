/**
 * One partition of a feed, stored in one layout on a real server: what the contract suite asks its questions of.
 * @typedef {import('./model.js').Item} Item
 * @typedef {import('./model.js').Now} Now
 */
import { onlyKey } from '../../src/feeds/keys.js'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { capabilities } from '../../src/store/nodes.js'
import { readScript, scriptNames } from '../../src/store/scripts.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { isNight, nightEngines, scopedEngines } from '../scope.js'

/** @typedef {Awaited<ReturnType<typeof openArm>>} Arm */
/** @typedef {ReturnType<Arm['open']>} Partition */

export const UNLIMITED = { retention: { windowMs: 0, maxItems: 0 }, nowMs: Date.now() }

/**
 * Runs a test over every layout on every engine, and in every way of writing that the engine has. By day a way is tested in full once:
 * on the newest engine, and SET on one without MSETEX, if there is one; other engines make a third of the runs of properties, and leave
 * out what only needs many items (`fullTest`).
 * @param {import('tap').Test} t
 * @param {(t: import('tap').Test, arm: Arm) => Promise<void>} run
 */
export async function overAllArms (t, run) {
  const engines = await scopedEngines()
  const full = (await nightEngines()).map(engineName)
  for (const engine of engines) {
    t.test(engineName(engine), async (t) => {
      const server = await startServer(t, { engine })
      const able = (await capabilities(await connectFor(t, server.url))).msetex
      const writesSet = !able || isNight || engines.every(({ hasMsetex }) => hasMsetex)
      for (const name of layoutNames()) {
        // only `ids` has items in keys of their own
        const dialects = name !== 'ids' ? [null] : [...(able ? [true] : []), ...(writesSet ? [false] : [])]
        for (const msetex of dialects) {
          const title = msetex === null ? name : `${name} with ${msetex ? 'MSETEX' : 'SET'}`
          const isFull = full.includes(engineName(engine)) || (name === 'ids' && !able)
          await t.test(title, async (t) => run(t, await openArm(t, server, name, msetex ?? able ?? false, isFull)))
        }
      }
    })
  }
}

/**
 * A partition of its own, written in the way that every server has.
 * @param {import('tap').Test} t @param {{ url: string }} server @param {string} layoutName
 * @param {Parameters<Arm['open']>[0]} [options]
 */
export const openPartition = async (t, server, layoutName, options) => (await openArm(t, server, layoutName, false, true)).open(options)

let feeds = 0

/**
 * @param {import('tap').Test} t @param {{ url: string }} server @param {string} layoutName
 * @param {boolean} msetex @param {boolean} isFull
 */
async function openArm (t, server, layoutName, msetex, isFull) {
  const layout = layoutOf(layoutName)
  const connection = await connectFor(t, server.url)
  for (const name of scriptNames()) await connection.send('SCRIPT', 'LOAD', readScript(name).body)
  const dialect = { msetex, mayWatch: true, sha: (/** @type {string} */ name) => readScript(name).sha }

  /**
   * @param {{ ttlMs?: number, late?: 'newest' | 'overwrite',
   *   connection?: import('../../src/store/connection.js').Connection, feed?: string }} [options]
   *   `connection`: another one to ask with
   */
  function open ({ ttlMs = 60_000, late = 'newest', connection: asking = connection, feed = `feed-${process.pid}-${++feeds}` } = {}) {
    const key = onlyKey('fr:', feed)
    // as of a feed with maxItems, so that what a layout counts for it is there
    const batchOf = () => layout.createBatch({ key, ttlMs, late, dialect, maxItems: 1_000_000 })

    /** @param {{ limit?: number, after?: any, sinceMs?: number | null, scan?: unknown } & Now} question */
    const latest = ({ limit = 1000, after = null, sinceMs = null, scan, retention, nowMs }) =>
      layout.latest(asking, key, { limit, after, sinceMs, scan, retention, nowMs })

    return {
      feed,
      key,
      latest,

      /** @param {Item[]} items @param {{ times?: number }} [sent] how often each batch is sent */
      async append (items, { times = 1 } = {}) {
        const batch = batchOf()
        let [late, lateBytes] = [0, 0]
        for (let from = 0; from < items.length; from += batch.maxItems) {
          batch.reset()
          for (const one of items.slice(from, from + batch.maxItems)) addTo(batch, one)
          for (let time = 0; time < times; time++) {
            const stored = await layout.append(connection, batch)
            late += stored.late
            lateBytes += stored.lateBytes ?? 0
          }
        }
        return { late, lateBytes }
      },

      /**
       * All pages until `next` is null.
       * @param {{ limit: number, sinceMs?: number | null } & Now} question
       * @param {(page: { items: Item[], after: any, next: any }) => Promise<unknown> | unknown} [behind] done after each page
       * @param {{ newScan?: boolean }} [options] `newScan`: each page starts a new scan
       */
      async scan (question, behind = () => {}, { newScan = false } = {}) {
        /** @type {Item[]} */
        const items = []
        /** @type {any} */
        let after = null
        let scan
        for (;;) {
          const page = await latest({ ...question, after, scan: newScan ? undefined : scan })
          items.push(...page.items)
          await behind({ items: page.items, after, next: page.next })
          if (!page.next) return items
          after = page.next
          scan = page.scan
        }
      },

      /** @param {Buffer[]} ids @param {Now} now */
      get: (ids, now) => layout.get(asking, key, ids, now),
      /** @param {Now} now */
      count: (now) => layout.count(asking, key, now),
      /** @param {Now} now */
      trim: (now) => layout.trim(asking, key, now),
      /** @param {Now} now @returns {Promise<number[]>} how many each piece removed */
      async trimAll (now) {
        const pieces = []
        for (let more = true; more;) {
          const piece = await layout.trim(asking, key, now)
          pieces.push(piece.removed)
          more = piece.more
        }
        return pieces
      },
      /** @param {number} newTtlMs @param {'GT' | 'NX'} [condition] */
      extend: (newTtlMs, condition = 'GT') => layout.extend(asking, key, { ttlMs: newTtlMs, condition }),
      /**
       * A connection on which something happens just before a command, each time it is sent.
       * @param {string} wanted command or script, or '*' @param {() => unknown} happens
       * @returns {import('../../src/store/connection.js').Connection}
       */
      meddling: (wanted, happens) => ({
        ...connection,
        async send (command, ...args) {
          if (command === wanted || wanted === '*') await happens()
          return connection.send(command, ...args)
        },
        async runScript (name, keys, args) {
          if (name === wanted || wanted === '*') await happens()
          return connection.runScript(name, keys, args)
        }
      }),
      /** @returns {Promise<string[]>} the keys of the partition */
      keys: async () => (await connection.send('KEYS', `fr:{${feed}:0}:*`)).map(String).sort()
    }
  }

  return {
    layout,
    guarantees: layout.describe(),
    server,
    connection,
    open,
    /** A check that needs many items. @param {string} title @param {(t: import('tap').Test) => Promise<unknown>} test */
    async fullTest (title, test) {
      if (isFull) await t.test(title, test)
    },
    /** @param {number} runs of a property @returns {number} how many are made on this engine */
    runs: (runs) => isFull ? runs : Math.ceil(runs / 3)
  }
}

/** @param {import('../../src/layouts/index.js').Batch} batch @param {Item} item */
export function addTo (batch, { id, ts, seq, value, deleted }) {
  if (deleted) batch.remove(id, ts, seq)
  else batch.add(id, ts, seq, value)
}

/** A deletion. @param {string} id @param {number} ts @param {number} [seq] @returns {Item} */
export const gone = (id, ts, seq = 0) => ({ id: Buffer.from(id), ts, seq, value: Buffer.alloc(0), deleted: true })

/** @param {string} id @param {number} ts @param {number} [seq] @param {string | Buffer} [value] @returns {Item} */
export const item = (id, ts, seq = 0, value = `${id}@${ts}`) => ({ id: Buffer.from(id), ts, seq, value: Buffer.from(value) })
