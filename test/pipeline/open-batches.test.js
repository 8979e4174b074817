/**
 * When batches are sent, on a fake clock; flush.test.js uses the real one.
 */
import t from 'tap'
import { mock } from 'node:test'
import fc from 'fast-check'
import { createOpenBatches } from '../../src/pipeline/open-batches.js'
import { holds } from '../properties.js'

const BATCH_MS = 5

/**
 * @param {(story: ReturnType<typeof build>) => void} tell must be synchronous, because the timers are mocked for the whole process
 * @param {{ buckets?: number, items?: number }} [parts]
 */
function onStillClock (tell, parts) {
  mock.timers.enable({ apis: ['setTimeout', 'setImmediate', 'Date'], now: 1_000_000 })
  try {
    tell(build(parts))
  } finally {
    mock.timers.reset()
  }
}

/** @param {{ buckets?: number, items?: number }} [parts] */
function build ({ buckets = 1, items = 10 } = {}) {
  const beganMs = Date.now()
  const state = { busy: false }
  /** @type {{ atMs: number, bucket: number, items: number, behindMs: number }[]} */
  const sent = []
  const batches = createOpenBatches({
    buckets,
    partitions: buckets,
    createBatch: () => /** @type {any} */ ({ bytes: 100, count: 0, maxItems: 1997, reset () { this.count = 0 } }),
    retention: { windowMs: 60_000, maxItems: 0 },
    flushAt: { items, ms: BATCH_MS },
    maxSpareBytes: 1000,
    clock: Date.now,
    isBusy: () => state.busy,
    onClosed (one) {
      sent.push({
        atMs: Date.now() - beganMs, bucket: one.bucket, items: one.batch.count, behindMs: Math.max(0, Date.now() - one.flushDueMs)
      })
      batches.recycle(one)
    }
  })
  return {
    batches,
    state,
    sent,
    times: () => sent.map(({ atMs }) => atMs),
    /** @param {number} ms */
    pass (ms) { for (let i = 0; i < ms; i++) mock.timers.tick(1) },
    /** What runs when the event loop turns. */
    turn: () => mock.timers.tick(0),
    /** @param {{ bucket?: number, dueMs?: number }} [item] `dueMs` after the beginning */
    append ({ bucket = 0, dueMs } = {}) {
      const due = dueMs === undefined ? Date.now() : beganMs + dueMs
      const one = batches.open[bucket] ?? batches.begin(bucket, due)
      const batch = /** @type {any} */ (one.batch)
      if (++batch.count >= one.maxItems) batches.close(one, due)
    }
  }
}

t.test('after a pause an item goes at once, with all that is appended in the same turn', async (t) => {
  onStillClock(({ append, turn, pass, sent }) => {
    append()
    append()
    t.same(sent, [], 'not within the turn')
    turn()
    t.same(sent, [{ atMs: 0, bucket: 0, items: 2, behindMs: 0 }])
    pass(20)
    append()
    turn()
    t.same(sent[1], { atMs: 20, bucket: 0, items: 1, behindMs: 0 })
  })
})

t.test('what comes sooner than batchMs after the batch before waits so long, and is not late by that', async (t) => {
  onStillClock(({ append, turn, pass, sent }) => {
    append()
    turn()
    for (let ms = 1; ms <= 12; ms++) {
      pass(1)
      append()
    }
    t.same(sent, [
      { atMs: 0, bucket: 0, items: 1, behindMs: 0 },
      { atMs: 5, bucket: 0, items: 4, behindMs: 0 },
      { atMs: 10, bucket: 0, items: 5, behindMs: 0 }
    ])
  })
})

t.test('a full batch goes at once, and the next that is not full batchMs later', async (t) => {
  onStillClock(({ append, turn, pass, sent }) => {
    append()
    turn()
    pass(2)
    for (let i = 0; i < 23; i++) append()
    t.same(sent.slice(1).map(({ atMs, items }) => [atMs, items]), [[2, 10], [2, 10]])
    pass(4)
    t.equal(sent.length, 3)
    pass(1)
    t.same(sent[3], { atMs: 7, bucket: 0, items: 3, behindMs: 0 })
  })
})

t.test('each slot by itself', async (t) => {
  onStillClock(({ append, turn, pass, sent }) => {
    append({ bucket: 0 })
    turn()
    pass(2)
    append({ bucket: 0 })
    append({ bucket: 2 })
    turn()
    pass(3)
    t.same(sent.map(({ atMs, bucket }) => [atMs, bucket]), [[0, 0], [2, 2], [5, 0]])
  }, { buckets: 3 })
})

t.test('a timer that fires late does not put off those after it', async (t) => {
  onStillClock(({ append, turn, times, sent }) => {
    append()
    turn()
    for (const ms of [7, 3, 7, 3, 13, 5]) {
      append()
      mock.timers.tick(ms)
    }
    t.same(times(), [0, 7, 10, 17, 20, 33, 38])
    t.same(sent.map(({ behindMs }) => behindMs), [0, 2, 0, 2, 0, 8, 5])
  })
})

t.test('while its stripe is busy a bucket sends only full batches, and the rest as soon as it is not', async (t) => {
  onStillClock(({ batches, append, turn, pass, sent, state }) => {
    state.busy = true
    for (let i = 0; i < 13; i++) append()
    pass(30)
    t.same(sent.map(({ items }) => items), [10])
    append()
    state.busy = false
    batches.arm()
    turn()
    t.same(sent[1], { atMs: 30, bucket: 0, items: 4, behindMs: 25 })
  })
})

t.test('a backlog is late until it is caught up, counted from when it was due', async (t) => {
  onStillClock(({ batches, append, turn, pass, sent, state }) => {
    append()
    turn()
    state.busy = true
    pass(1000)
    state.busy = false
    // those of a second, appended when there is room again
    for (let dueMs = 1; dueMs <= 1000; dueMs += 10) append({ dueMs })
    t.same(sent.slice(1).map(({ behindMs }) => behindMs), [995, 899, 799, 699, 599, 499, 399, 299, 199, 99])
    append({ dueMs: 999 })
    batches.arm()
    pass(5)
    t.ok((sent.at(-1)?.behindMs ?? 0) <= 6)
  })
})

t.test('closeAll sends all open batches, early or not, and counts as a flush', async (t) => {
  onStillClock(({ batches, append, turn, pass, sent, times }) => {
    append()
    turn()
    pass(1)
    append()
    batches.closeAll()
    append()
    turn()
    pass(4)
    t.same(times(), [0, 1])
    pass(1)
    t.same(times(), [0, 1, 6])
    t.ok(sent.every(({ behindMs }) => behindMs === 0))
  })
})

t.test('nothing goes when it was stopped', async (t) => {
  onStillClock(({ batches, append, turn, pass, sent }) => {
    append()
    batches.stop()
    turn()
    pass(50)
    t.same(sent, [])
  })
})

t.test('every item goes, none waits longer than batchMs, and no second has more than 1000 / batchMs batches that are not full, ' +
  'and one', (t) =>
  holds(t, fc.property(fc.array(fc.record({
    afterMs: fc.constantFrom(0, 0, 1, 1, 2, 3, 7, 40), count: fc.integer({ min: 1, max: 14 }), bucket: fc.integer({ min: 0, max: 1 })
  }), { minLength: 1, maxLength: 80 }), (story) => {
    onStillClock(({ append, turn, pass, sent }) => {
      let appended = 0
      let nowMs = 0
      /** @type {{ bucket: number, atMs: number }[]} */
      const items = []
      for (const { afterMs, count, bucket } of story) {
        pass(afterMs)
        nowMs += afterMs
        for (let i = 0; i < count; i++, appended++) {
          items.push({ bucket, atMs: nowMs })
          append({ bucket })
        }
        turn()
      }
      pass(BATCH_MS)
      if (sent.reduce((sum, { items }) => sum + items, 0) !== appended) throw new Error('not every item went')
      for (const bucket of [0, 1]) {
        const mine = sent.filter((batch) => batch.bucket === bucket)
        const partial = mine.filter((batch) => batch.items < 10)
        for (let i = 1; i < partial.length; i++) {
          if (partial[i].atMs - partial[i - 1].atMs < BATCH_MS) throw new Error(`two within ${BATCH_MS} ms`)
        }
        const waiting = items.filter((item) => item.bucket === bucket)
        for (const { atMs, items: n } of mine) {
          for (const item of waiting.splice(0, n)) if (atMs - item.atMs > BATCH_MS) throw new Error('waited too long')
        }
      }
    }, { buckets: 2 })
  }), { runs: 200 }))
