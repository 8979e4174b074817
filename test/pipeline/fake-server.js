/**
 * A pipeline over connections that the test answers by hand: for tests of counts and times, not of bytes.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { createPipeline } from '../../src/pipeline/pipeline.js'

/** A batch that only keeps its items. @param {number} partition @param {import('../../src/layouts/index.js').Retention} retention */
function createBatch (partition, retention) {
  /** @type {{ id: string, ts: number, seq: number, value: string | null }[]} */
  let items = []
  let bytes = 100
  return {
    partition,
    retention,
    get count () { return items.length },
    get bytes () { return bytes },
    maxItems: 1997,
    get items () { return items },
    /** @param {Buffer} id @param {number} ts @param {number} seq @param {Buffer} value */
    add (id, ts, seq, value) {
      items.push({ id: String(id), ts, seq, value: String(value) })
      bytes += id.length + value.length + 50
    },
    /** @param {Buffer} id @param {number} ts @param {number} seq */
    remove (id, ts, seq) {
      items.push({ id: String(id), ts, seq, value: null })
      bytes += id.length + 50
    },
    encoded: () => ({ bytes: Buffer.alloc(0), replies: 1 }),
    reset () {
      items = []
      bytes = 100
    }
  }
}

/** @param {import('tap').Test} t @param {Partial<import('../../src/pipeline/pipeline.js').PipelineOptions>} [options] */
export function buildPipeline (t, options) {
  /** @type {{ batch: ReturnType<typeof createBatch>, resolve: (answer: { late: number }) => void, reject: (error: Error) => void }[]} */
  const wire = []
  /** @type {{ id: string, ts: number, seq: number, value: string | null }[][]} what the server acknowledged */
  const stored = []
  const pipeline = createPipeline(/** @type {any} */ ({
    send: (/** @type {number} */ stripe, /** @type {any} */ connection, /** @type {any[]} */ batches) =>
      Promise.all(batches.map((batch) => new Promise((resolve, reject) => { wire.push({ batch, resolve, reject }) }))),
    ack: { stripes: 1, grouped: false },
    partitions: 1,
    createBatch,
    retention: { windowMs: 60_000, maxItems: 0 },
    maxFutureMs: 60_000,
    flushAt: { items: 10, bytes: 1_000_000, ms: 60_000 },
    inFlightBytes: 1_000_000,
    whenFull: 'block',
    clock: () => performance.timeOrigin + performance.now(),
    ...options
  }))
  t.teardown(() => pipeline.close({ drainMs: 0 }))
  const attach = (/** @type {number} */ bucket) =>
    pipeline.attach(bucket, /** @type {any} */ ({ close: () => pipeline.detach(bucket) }))

  return {
    pipeline,
    wire,
    stored,
    /** Opens the session of each partition. */
    open () { for (let bucket = 0; bucket < (options?.partitions ?? 1); bucket++) attach(bucket) },
    /** Begins a new epoch; what the one before owes is lost. */
    reopen () {
      wire.length = 0
      pipeline.detach(0)
      attach(0)
    },
    /** @param {string} id @param {number} [ts] @param {string} [value] */
    append: (id, ts = Date.now(), value = 'v') => pipeline.append(Buffer.from(id), ts, Buffer.from(value)),
    /** @param {number} [late] */
    async answer (late = 0) {
      const sent = wire.shift()
      if (sent) stored.push([...sent.batch.items])
      sent?.resolve({ late })
      await turn()
    },
    /** @param {string} outcome */
    async fail (outcome) {
      wire.shift()?.reject(Object.assign(new Error(outcome), { outcome }))
      if (outcome === 'over') wire.length = 0
      await turn()
    }
  }
}

/** Every item offered, and where it ended. @param {import('../../src/pipeline/pipeline.js').Pipeline['account']} account */
export function accounted ({ offered, items, refused, dropped, failed }) {
  return { offered, ended: items + dropped + failed + Object.values(refused).reduce((sum, n) => sum + n, 0) }
}
