/** Group commit: what goes in one call, what waits, what is dropped. */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createBatcher, prepare } from '../../src/admission/index.js'

/**
 * A batcher whose calls return when the test says so.
 * @param {{ deadlineMs?: number, maxCommands?: number, maxCalls?: number, maxWaiting?: number }} [options]
 */
function createFake ({ deadlineMs = 1000, ...options } = {}) {
  /** @type {{ keys: string[], done: () => void, fail: (error: Error) => void }[]} */
  const calls = []
  const seen = { sent: /** @type {number[]} */ ([]), dropped: /** @type {string[]} */ ([]) }
  const batcher = createBatcher({
    send: (commands) => new Promise((resolve, reject) => {
      calls.push({
        keys: commands.map(({ key }) => key),
        done: () => resolve({
          generation: 'a.0',
          now: 1,
          replies: commands.map(({ key }) => Buffer.from(`0\ncode of ${key}\n1\n1`)),
          waitMs: null
        }),
        fail: reject
      })
    }),
    deadlineMs,
    metrics: { sent: (n) => seen.sent.push(n), waited: () => {}, dropped: (why) => seen.dropped.push(why) },
    ...options
  })
  const submit = (/** @type {string} */ key) => batcher.submit(prepare({ rule: 'max', key, scope: '', requestId: key, args: [] }))
  return { batcher, calls, seen, submit }
}

t.test('one command is sent at once; those that come in the meantime go together, in order', async (t) => {
  const { calls, seen, submit } = createFake()
  const answers = ['a', 'b', 'c'].map(submit)
  t.same(calls.map(({ keys }) => keys), [['a']])
  calls[0].done()
  t.match(await answers[0], { code: 'code of a', generation: 'a.0', now: 1 })
  t.same(calls[1].keys, ['b', 'c'])
  calls[1].done()
  t.same((await Promise.all(answers)).map(({ code }) => code), ['code of a', 'code of b', 'code of c'])
  t.same(seen.sent, [1, 2])
})

t.test('a call has at most so many commands', async (t) => {
  const { calls, submit } = createFake({ maxCommands: 2 })
  const answers = ['a', 'b', 'c', 'd'].map(submit)
  for (let n = 0; n < 3; n++) {
    calls[n].done()
    await setImmediate()
  }
  t.same(calls.map(({ keys }) => keys), [['a'], ['b', 'c'], ['d']])
  await Promise.all(answers)
})

t.test('without batches each command is sent at once', async (t) => {
  const { calls, submit } = createFake({ maxCommands: 1, maxCalls: Infinity })
  const answers = ['a', 'b'].map(submit)
  t.same(calls.map(({ keys }) => keys), [['a'], ['b']])
  for (const { done } of calls) done()
  t.same((await Promise.all(answers)).map(({ code }) => code), ['code of a', 'code of b'])
})

t.test('a failed call fails its commands only', async (t) => {
  const { calls, submit } = createFake()
  const [first, second] = ['a', 'b'].map(submit)
  calls[0].fail(Object.assign(new Error('lost'), { code: 'SERVER_LOST' }))
  await t.rejects(first, { code: 'SERVER_LOST' })
  calls[1].done()
  t.equal((await second).code, 'code of b')
})

t.test('a full queue refuses, and what waits too long is dropped before it is sent; both are counted', async (t) => {
  const { batcher, calls, seen, submit } = createFake({ maxWaiting: 2, deadlineMs: 30 })
  const first = submit('a')
  const waiting = ['b', 'c'].map(submit)
  for (const one of waiting) one.catch(() => {})
  await t.rejects(submit('d'), { code: 'ADMISSION_FULL', retryable: true })
  t.equal(batcher.waiting, 2)
  await sleep(50)
  calls[0].done()
  t.equal((await first).code, 'code of a', 'what was sent is never dropped')
  for (const one of waiting) await t.rejects(one, { code: 'ADMISSION_LATE', retryable: true })
  t.same(seen.dropped, ['full', 'late', 'late'])
  const next = submit('e')
  calls[1].done()
  t.equal((await next).code, 'code of e')
})
