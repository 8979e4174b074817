/** Following readers that are killed, stopped, started again and full, while items come: nothing newest is missed, nothing goes back. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { runCommand } from '../commands.js'
import { startProxy } from '../proxy.js'
import { eventually, freePort, openWriterFor } from '../servers.js'
import { startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'
import { startFollowing } from './following.js'
import { nightly, wholeTest } from '../scope.js'

const DAY_MS = 86_400_000
const IDS = 200
/** more than there are: with the default, the snapshot lacks ids that may not change again */
const ALL = { limit: 1000 }
/** How often a reader is killed. */
const KILLS = nightly(2, 1)
/** Nothing listens there. */
const NO_PORT = 1
const bytes = (/** @type {string} */ text) => Buffer.from(text)
const text = (/** @type {any} */ { value }) => Buffer.from(value).toString()

/**
 * Writes 100 items a second, one id after another, each version with the next number.
 * @param {import('tap').Test} t
 * @param {Parameters<typeof openWriterFor>[1]} options
 */
async function startWriting (t, options) {
  const { pipeline } = await openWriterFor(t, { layout: 'segments', windowMs: DAY_MS, keyPrefix, deadlineMs: 10_000, ...options })
  /** @type {Map<string, string>} */
  const newest = new Map()
  let number = 0
  const over = new AbortController()
  const put = (/** @type {string} */ id) => {
    newest.set(id, String(++number))
    pipeline.append(bytes(id), Date.now(), bytes(String(number)))
  }
  const writing = (async () => {
    for (; !over.signal.aborted; await pause(50)) for (let n = 0; n < 5; n++) put(`id-${number % IDS}`)
    for (let n = 0; n < 5; n++) put(`last-${n}`)
    await pipeline.flush()
  })()
  const stop = () => {
    over.abort()
    return writing
  }
  t.teardown(() => stop().catch(() => {}))
  return { newest, stop, get number () { return number } }
}

/**
 * What was followed is what was written, once writing has stopped.
 * @param {ReturnType<typeof startFollowing>} following
 * @param {Map<string, string>} newest
 */
const hasAll = ({ items }, newest) => eventually(() => {
  for (const [id, value] of newest) {
    const got = items.get(id)
    if (!got || text(got) !== value) throw new Error(`${id}: ${got ? text(got) : 'nothing'} instead of ${value}`)
  }
  return true
})

/** Numbers of an id never fall. @param {any[]} events */
function fallen (events) {
  /** @type {Map<string, number>} */
  const seen = new Map()
  return events.flatMap(({ event, items = [] }) => items.filter((/** @type {any} */ item) => {
    const number = Number(text(item))
    const isLess = event === 'items' && number < (seen.get(item.id) ?? 0)
    seen.set(item.id, number)
    return isLess
  }).map(({ id }) => id))
}

t.jobs = 3
const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
const FROM_PRIMARY = ['--read-from', 'primary']
/** Up before anything is written. */
const reader = await startReader(t, { redisUrl, keyPrefix, flags: FROM_PRIMARY })

/** A process on a port of its own, which can be started there again. @param {import('tap').Test} t */
async function openProcess (t) {
  const port = await freePort()
  const flags = ['--redis-url', redisUrl, '--key-prefix', keyPrefix, '--port', String(port), ...FROM_PRIMARY]
  const start = async () => {
    const command = runCommand(t, ['reader', ...flags])
    await command.until(/serving at/)
    return command
  }
  let command = await start()
  return {
    url: `http://127.0.0.1:${port}`,
    kill: () => command.kill('SIGKILL'),
    async restart () { command = await start() }
  }
}

/**
 * In this process, behind an address that stays. Its clients see no more of a killed reader than ended connections.
 * @param {import('tap').Test} t @param {string[]} flags
 */
async function openBehind (t, flags) {
  const proxy = await startProxy(t, NO_PORT, { isCounting: false })
  /** @type {Awaited<ReturnType<typeof startReader>>} */
  let reader
  const restart = async () => {
    reader = await startReader(t, { redisUrl, keyPrefix, flags })
    proxy.switchTo(Number(new URL(reader.url).port))
  }
  await restart()
  return {
    url: `http://127.0.0.1:${proxy.port}`,
    async kill () {
      proxy.switchTo(NO_PORT)
      proxy.resetAll()
      await reader.service.stop()
    },
    restart
  }
}

/** In this process, on a port of its own, which can be stopped and started there again. @param {import('tap').Test} t */
async function openHere (t) {
  const port = await freePort()
  const start = () => startReader(t, { redisUrl, keyPrefix, port, flags: FROM_PRIMARY })
  let { url, service } = await start()
  return {
    url,
    stop: () => service.stop(),
    async restart () { ({ service } = await start()) }
  }
}

t.test('clients resume when a reader is killed and started again', { buffered: true }, async (t) => {
  const feed = 'killed'
  const writing = await startWriting(t, { redisUrl, feed })
  const reader = await openProcess(t)
  const all = startFollowing(t, reader.url, feed, ALL)
  const some = startFollowing(t, reader.url, feed, { ids: ['id-7', 'last-2'], maxRate: 5 })
  await eventually(() => all.events.length > 5 && some.events.length > 1)
  for (let n = 0; n < KILLS; n++) {
    await reader.kill()
    const before = [all, some].map(({ events }) => events.length)
    await eventually(() => all.retries.length > n && some.retries.length > n)
    await reader.restart()
    await eventually(() => [all, some].every(({ events }, i) => events.length > before[i] + 2))
  }
  await writing.stop()
  await hasAll(all, writing.newest)
  await eventually(() => some.items.has('last-2') && text(some.items.get('id-7')) === writing.newest.get('id-7'))
  t.same([all, some].map(({ names }) => names().filter((name) => name !== 'items')), [['snapshot'], ['snapshot']],
    'no reset, and no snapshot but the first')
  t.same([...all.wentBack, ...some.wentBack, ...fallen(all.events), ...fallen(some.events)], [])
  t.same([...some.items.keys()].sort(), ['id-7', 'last-2'])
})

wholeTest('of two readers, on different nodes, one is killed, then the other: clients resume at the running one', {
  buffered: true
}, async (t) => {
  const feed = 'two'
  const writing = await startWriting(t, { redisUrl, feed })
  const [one, other] = [await openBehind(t, FROM_PRIMARY), await openBehind(t, ['--read-from', 'replica'])]
  const all = startFollowing(t, [one.url, other.url], feed, ALL)
  await eventually(() => all.events.length > 5)
  for (const gone of [one, other]) {
    const before = all.events.length
    await gone.kill()
    await eventually(() => all.retries.some(({ error }) => error.message.startsWith(`${gone.url}: `)) && all.events.length > before + 5)
    if (gone === one) await one.restart()
  }
  await writing.stop()
  await hasAll(all, writing.newest)
  t.same(all.names().filter((name) => name !== 'items'), ['snapshot'])
  t.same([...all.wentBack, ...fallen(all.events)], [])
})

wholeTest('a reader that stops sends clients a retry delay; they resume without a gap', { buffered: true }, async (t) => {
  const feed = 'stopped'
  const writing = await startWriting(t, { redisUrl, feed })
  const reader = await openHere(t)
  const all = startFollowing(t, reader.url, feed, ALL)
  await eventually(() => all.events.length > 5)
  t.equal(await reader.stop(), 0)
  await eventually(() => all.retries.length > 0)
  t.match(all.retries[0].error.message, /the stream ended/)
  t.ok(all.retries[0].waitMs <= 3000)
  const before = all.events.length
  await reader.restart()
  await eventually(() => all.events.length > before + 2)
  await writing.stop()
  await hasAll(all, writing.newest)
  t.same(all.names().filter((name) => name !== 'items'), ['snapshot'])
  t.same(fallen(all.events), [])
})

wholeTest('a client that was away for longer than the retention is reset', { buffered: true }, async (t) => {
  const feed = 'short'
  const windowMs = 1500
  const writing = await startWriting(t, { redisUrl, feed, windowMs })
  const reader = await openHere(t)
  const all = startFollowing(t, reader.url, feed, { limit: 10_000 })
  await eventually(() => all.events.length > 5)
  await reader.stop()
  await pause(2 * windowMs)
  await reader.restart()
  await eventually(() => all.events.some(({ reason }) => reason === 'expired'))
  await writing.stop()
  await eventually(() => all.items.has('last-4'))
  const at = all.events.findIndex(({ reason }) => reason === 'expired')
  t.match(all.events.slice(at, at + 2), [{ event: 'reset', reason: 'expired', position: null }, { event: 'snapshot', position: String }])
})

t.test('a refusal of the reader ends following, with the reason; a position of another feed does not', { buffered: true }, async (t) => {
  const writing = await startWriting(t, { redisUrl, feed: 'refused' })
  await writing.stop()
  const refusal = (/** @type {string} */ feed, options = {}) =>
    t.rejects(startFollowing(t, reader.url, feed, options).following, { name: 'FollowError', ...expected })
  let expected = {}
  expected = { code: 'FEED_UNKNOWN', status: 404 }
  await refusal('nobody', { wait: false })
  expected = { code: 'FEED_NAME_INVALID', status: 400 }
  await refusal('No Feed')
  expected = { code: 'REQUEST_INVALID', status: 400, message: /limit/ }
  await refusal('refused', { limit: 10_001 })

  const other = await startWriting(t, { redisUrl, feed: 'refused-other' })
  await other.stop()
  const first = startFollowing(t, reader.url, 'refused-other')
  await eventually(() => first.events.length > 0)
  const second = startFollowing(t, reader.url, 'refused', { from: first.events[0].position })
  await eventually(() => second.events.length === 2)
  t.match(second.events, [{ event: 'reset', reason: 'invalid' }, { event: 'snapshot' }])
})

wholeTest('with a token file a token is needed, and following ends when it is revoked', { buffered: true }, async (t) => {
  const line = (/** @type {string} */ token) => `{"token":"${token}","scopes":["read"],"feeds":["tokens"]}\n`
  const writing = await startWriting(t, { redisUrl, feed: 'tokens' })
  const file = join(t.testdir({ tokens: line('a-token-of-ours') }), 'tokens')
  const reader = await startReader(t, { redisUrl, keyPrefix, flags: [...FROM_PRIMARY, '--tokens', file] })
  await t.rejects(startFollowing(t, reader.url, 'tokens').following, { code: 'UNAUTHORIZED', status: 401 })
  await t.rejects(startFollowing(t, reader.url, 'tokens', { authToken: 'another-token' }).following, { code: 'UNAUTHORIZED' })
  const ours = startFollowing(t, reader.url, 'tokens', { authToken: 'a-token-of-ours' })
  await eventually(() => ours.events.length > 3)
  await writeFile(file, line('a-new-token-of-ours'))
  await t.rejects(ours.following, { code: 'UNAUTHORIZED' })
  await writing.stop()
})

wholeTest('a full reader is tried again after its Retry-After, another one before', { buffered: true }, async (t) => {
  const feed = 'full'
  const writing = await startWriting(t, { redisUrl, feed })
  const [full, free] = await Promise.all([[...FROM_PRIMARY, '--max-streams', '1'], FROM_PRIMARY].map((flags) =>
    startReader(t, { redisUrl, keyPrefix, flags })))
  const first = startFollowing(t, full.url, feed)
  await eventually(() => first.events.length > 1)
  const second = startFollowing(t, full.url, feed)
  const third = startFollowing(t, [full.url, free.url], feed, ALL)
  await eventually(() => second.retries.length > 0 && third.events.length > 1)
  t.match([second.retries[0], third.retries[0]].map(({ error }) => error),
    [{ code: 'OVERLOADED', status: 503, retryable: true }, { code: 'OVERLOADED' }])
  t.ok(second.retries[0].waitMs >= 1000)
  t.equal(second.events.length, 0)
  await first.stop()
  await eventually(() => second.events.length > 0)
  await writing.stop()
  await hasAll(third, writing.newest)
})
