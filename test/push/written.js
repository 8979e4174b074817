/**
 * Feeds for tests of pushing, and a ledger of what was written: the newest version of each id, which every client must come to.
 *
 * @typedef {Awaited<ReturnType<typeof openWritten>>} Written
 */
import { setTimeout as pause } from 'node:timers/promises'
import { eventually, openWriterFor } from '../servers.js'

const DAY_MS = 86_400_000
const bytes = (/** @type {string} */ text) => Buffer.from(text)

/**
 * @param {import('tap').Test} t
 * @param {{ redisUrl: string, feed: string, layout?: string } & Partial<Parameters<typeof openWriterFor>[1]>} options
 */
export async function openWritten (t, options) {
  const writer = await openWriterFor(t, { layout: 'segments', windowMs: DAY_MS, ...options })
  const { pipeline } = writer
  /** newest by id @type {Map<string, { ts: number, value: string } | null>} null: removed */
  const ledger = new Map()
  let lastTs = 0
  /** later than all before, so that of an id the later version is the newer one */
  const nextTs = () => {
    lastTs = Math.max(Date.now(), lastTs + 1)
    return lastTs
  }

  /** @param {string} id @param {string | Buffer} value @param {number} ts */
  function append (id, value, ts) {
    pipeline.append(bytes(id), ts, bytes(/** @type {string} */ (value)))
    ledger.set(id, { ts, value: String(value) })
  }

  return {
    writer,
    ledger,
    append: (/** @type {string} */ id, /** @type {string | Buffer} */ value, ts = Date.now()) => append(id, value, ts),
    flush: () => pipeline.flush({ deadlineMs: 30_000 }),

    /** Writes, each later than the one before, and waits until it is acknowledged. @param {...[id: string, value: string | Buffer]} some */
    async put (...some) {
      for (const [id, value] of some) append(id, value, nextTs())
      await pipeline.flush({ deadlineMs: 30_000 })
    },

    /** @param {string} id */
    async remove (id) {
      pipeline.remove(bytes(id), nextTs())
      ledger.set(id, null)
      await pipeline.flush({ deadlineMs: 30_000 })
    },

    /**
     * Writes on, version after version of each id in turn, until it is stopped.
     * @param {{ ids: number, perSlice?: number, everyMs?: number, valueAt?: (n: number) => string | Buffer }} how
     */
    keepWriting ({ ids, perSlice = 20, everyMs = 10, valueAt = String }) {
      const over = new AbortController()
      let n = 0
      const writing = (async () => {
        while (!over.signal.aborted) {
          for (let i = 0; i < perSlice; i++, n++) append(`id-${n % ids}`, valueAt(n), Date.now())
          await pause(everyMs)
          await pipeline.ready()
        }
        await pipeline.flush({ deadlineMs: 60_000 })
      })()
      writing.catch(() => {})
      t.teardown(() => over.abort())
      return {
        get written () { return n },
        /** Resolves when all is acknowledged. */
        stop () {
          over.abort()
          return writing
        }
      }
    },

    /**
     * Waits until clients have the newest version of each id that was written.
     * @param {{ items: Map<string, any> }[]} clients @param {Iterable<string>} [ids]
     */
    reaches: (clients, ids = ledger.keys()) => {
      const wanted = [...ids]
      return eventually(() => {
        for (const [i, { items }] of clients.entries()) {
          for (const id of wanted) {
            const newest = ledger.get(id)
            const got = items.get(id)
            const isThere = newest ? got && !got.deleted && textOf(got) === newest.value : !got || got.deleted
            if (!isThere) {
              throw new Error(`client ${i} has of ${id} ${got ? JSON.stringify(got).slice(0, 200) : 'nothing'}, the newest is ` +
                `${JSON.stringify(newest)?.slice(0, 200)}`)
            }
          }
        }
      })
    }
  }
}

/** @param {{ value: any, encoding?: string }} item as it came */
export const textOf = ({ value, encoding = 'base64' }) =>
  typeof value === 'string' && encoding === 'base64' ? String(Buffer.from(value, 'base64')) : value
