/**
 * Whatever a caller passes, every method of the library answers, or fails with an error that has a code; and what fails was not
 * appended.
 */
import fc from 'fast-check'
import t from 'tap'
import { follow, FollowError } from '../../src/client.js'
import { kindOf } from '../../src/errors.js'
import { FreshetError, openFeed, openReader } from '../../src/index.js'
import { insideOfFeed } from '../../src/inside.js'
import { holds } from '../properties.js'
import { engineName, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const [engine] = await scopedEngines()

const HANG_MS = 60_000
const NOWHERE = 'redis://127.0.0.1:1'

const CORNERS = [undefined, null, NaN, -1, 0, 1.5, 2 ** 31, 2 ** 53, 1e300, Infinity, '', 'a', '\ud83d', {}, [], Object.create(null),
  [Object.create(null)], 1n, Symbol('s'), () => {}, /x/, Buffer.alloc(0), new ArrayBuffer(1), new URL(NOWHERE), AbortSignal.abort()]
const value = fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...CORNERS) }, {
  weight: 1,
  arbitrary: fc.anything(
    { withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withSparseArray: true, withTypedArray: true })
})
const options = (/** @type {string[]} */ ...names) =>
  fc.oneof(value, fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] }))
const item = fc.oneof(options('id', 'ts', 'value', 'dueMs'), fc.record({ id: fc.constant('a'), value }),
  fc.record({ id: fc.constant('a'), ts: value, value: fc.constant('x') }))
const wait = options('deadlineMs')

/** Arguments of the methods that both a feed and a reading have. */
const QUERIES = {
  latest: [options('limit', 'sinceMs', 'after')],
  since: [value, options('limit', 'after')],
  get: [value],
  count: [],
  subscribe: [options('from', 'signal', 'pollMs', 'wait', 'onWaiting')]
}
/** @type {Record<string, fc.Arbitrary<any>[]>} */
const OF_FEED = { ...QUERIES, append: [item], delete: [item], ready: [wait], acknowledged: [wait], flush: [wait], status: [] }
/** @type {Record<string, fc.Arbitrary<any>[]>} */
const OF_READER = { feeds: [], feed: [value, options('encoding')], status: [] }

/** @param {Record<string, fc.Arbitrary<any>[]>} methods */
const callOf = (methods) => fc.oneof(...Object.entries(methods)
  .map(([name, args]) => fc.record({ name: fc.constant(name), args: fc.tuple(...args) })))

/** @param {any} error @param {any} [type] */
function checkCode (error, type = FreshetError) {
  const isCoded = error instanceof type && typeof error.code === 'string' && typeof error.retryable === 'boolean'
  if (!isCoded || (type === FreshetError && !kindOf(error.code))) throw new Error(`not coded: ${error?.stack ?? String(error)}`)
}

/**
 * @param {() => any} call a method; of changes the first is awaited for a moment
 * @returns {Promise<'answer' | 'thrown' | 'rejected'>}
 */
async function outcomeOf (call) {
  let given
  try {
    given = call()
  } catch (error) {
    checkCode(error)
    return 'thrown'
  }
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const late = new Promise((resolve, reject) => { timer = setTimeout(reject, HANG_MS, new Error(`no answer within ${HANG_MS} ms`)) })
  try {
    if (given?.next) await Promise.race([given.next(), new Promise((resolve) => setTimeout(resolve, 2))]).finally(() => given.return())
    else await Promise.race([given, late])
    return 'answer'
  } catch (error) {
    checkCode(error)
    return 'rejected'
  } finally {
    clearTimeout(timer)
  }
}

t.test('every export and method is among those that are tried', async (t) => {
  const { Feed } = await import('../../src/feed.js')
  const { Reader } = await import('../../src/reader.js')
  const methods = (/** @type {object} */ of) =>
    Object.entries(of).flatMap(([name, method]) => typeof method === 'function' ? [name] : []).sort()
  t.same(methods(new Feed({ source: {} })), [...Object.keys(OF_FEED), 'close'].sort())
  t.same(methods(new Reader({})), [...Object.keys(OF_READER), 'close'].sort())
})

t.test('opening: any name and options', async (t) => {
  const names = ['redisUrl', 'replicaUrl', 'layout', 'partitions', 'late', 'ack', 'whenFull', 'batchMs', 'views', 'encoding', 'log',
    'clock', 'onRefused', 'windowMs']
  await holds(t, fc.asyncProperty(value, options(...names), async (name, given) => {
    await outcomeOf(() => openFeed(/** @type {any} */ (name), /** @type {any} */ (given)))
    await outcomeOf(() => openFeed('one', /** @type {any} */ (given)))
    await outcomeOf(() => openReader(/** @type {any} */ (given)))
  }))
  await t.rejects(openFeed('one', /** @type {any} */ ({ redisUrl: NOWHERE, encoding: 'utf8' })),
    { code: 'SETTINGS_INVALID', message: 'encoding: "utf8" (option); expected bytes | json' })
})

t.test('following: any arguments', async (t) => {
  const anyOptions = options('ids', 'limit', 'maxRate', 'encoding', 'from', 'signal', 'silentMs')
  const reader = 'http://127.0.0.1:1'
  await holds(t, fc.property(value, value, anyOptions, (...given) => {
    for (const all of [given, [reader, given[1], given[2]], [reader, 'one', given[2]]]) {
      const [readers, feed, how] = /** @type {any} */ (all)
      try {
        follow(readers, feed, how).return()
      } catch (error) {
        checkCode(error, FollowError)
      }
    }
  }))
})

t.test(engineName(engine), async (t) => {
  const { url: redisUrl } = await startServer(t, { engine })

  for (const encoding of ['bytes', 'json']) {
    t.test(`${encoding}: any arguments of every method of a feed`, async (t) => {
      const keepsAll = { windowMs: 0, maxFutureMs: 2 ** 41 - 1 }
      const feed = await openFeed(`any-${encoding}`, /** @type {any} */ ({ redisUrl, readFrom: 'primary', encoding, ...keepsAll }))
      t.teardown(() => feed.close())
      const { pipeline } = insideOfFeed(feed).writer
      const sum = () => feed.account.offered - Object.values(feed.account.refused).reduce((sum, n) => sum + n, 0)
      let appended = 0
      await holds(t, fc.asyncProperty(callOf(OF_FEED), async ({ name, args }) => {
        const [before, heldBytes] = [sum(), pipeline.heldBytes]
        /** @type {any} */
        let thrown = null
        const outcome = await outcomeOf(() => {
          try {
            return /** @type {any} */ (feed)[name](...args)
          } catch (error) {
            thrown = { counted: sum() - before, heldBytes: pipeline.heldBytes - heldBytes }
            throw error
          }
        })
        if (thrown && (thrown.counted !== 0 || thrown.heldBytes !== 0)) throw new Error(`partly appended: ${JSON.stringify(thrown)}`)
        if (outcome === 'thrown' && name !== 'append' && name !== 'delete') throw new Error(`${name} threw at once`)
        if (outcome === 'answer' && (name === 'append' || name === 'delete')) appended++
      }), { runs: 6000, timeLimitMs: 60_000 })
      await feed.flush({ deadlineMs: HANG_MS })
      t.ok(appended > 0)
      const { items, refused, failed, dropped } = feed.account
      // late: the stored version is newer
      t.same([items + (refused.late ?? 0), failed, dropped], [appended, 0, 0], 'what did not throw was appended, and nothing else')
    })
  }

  t.test('any arguments of every method of a reader, and of its feeds', async (t) => {
    const writer = await openFeed('read', { redisUrl })
    await writer.close()
    const reader = await openReader({ redisUrl, readFrom: 'primary' })
    t.teardown(() => reader.close())
    const reading = reader.feed('read', { encoding: 'json' })
    await holds(t, fc.asyncProperty(callOf(OF_READER), callOf(QUERIES), async (one, other) => {
      await outcomeOf(() => /** @type {any} */ (reader)[one.name](...one.args))
      await outcomeOf(() => /** @type {any} */ (reading)[other.name](...other.args))
    }), { runs: 1500, timeLimitMs: 30_000 })
  })

  t.test('an invalid argument has one code, and the message says what is expected', async (t) => {
    const feed = await openFeed('codes', { redisUrl, readFrom: 'primary' })
    t.teardown(() => feed.close())
    /** @type {any} */
    const any = feed
    /** @type {[() => any, string][]} */
    const calls = [
      [() => any.latest(-1), 'limit -1; expected an integer of 1 or more'],
      [() => any.latest(1e300), 'limit 1e+300; expected an integer of 1 or more'],
      [() => any.latest('5'), '"5" is not an object; the options are limit sinceMs after'],
      [() => any.latest({ limits: 5 }), 'limits is unknown; the options are limit sinceMs after'],
      [() => any.latest({ after: 7 }), 'after 7; expected the "next" of an earlier page'],
      [() => any.since('x'), 'since "x"; expected integer milliseconds since 1970'],
      [() => any.get(''), 'an id of 0 bytes; expected 1-128 bytes of UTF-8 without control characters'],
      [() => any.subscribe({ from: 7 }).next(), 'from 7; expected the "position" of an earlier change'],
      [() => any.subscribe({ signal: {} }).next(), 'signal an object; expected an AbortSignal'],
      [() => any.subscribe({ pollMs: -1 }).next(), 'pollMs -1; expected milliseconds, 0 or more'],
      [() => any.subscribe(null).next(), 'null is not an object; the options are from signal pollMs wait onWaiting'],
      [() => any.flush({ drainMs: 5 }), 'drainMs is unknown; the options are deadlineMs'],
      [() => any.close(5000), '5000 is not an object; the options are drainMs'],
      [async () => any.append(), 'undefined is not an item; expected an object with id and, to append, value'],
      [async () => any.delete('a'), '"a" is not an item; expected an object with id and, to append, value']
    ]
    for (const [call, message] of calls) await t.rejects(call(), { code: 'ARGUMENT_INVALID', retryable: false, message })
  })
})
