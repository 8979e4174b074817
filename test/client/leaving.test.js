/** Following ends at once and leaves no connection, timer or listener. */
import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { follow } from '../../src/client.js'
import { eventually } from '../servers.js'
import { eventText, refusing, startFollowing, startScript, streaming } from './following.js'

t.jobs = 3
const run = promisify(execFile)
const SNAPSHOT = eventText('snapshot', { a: '1' }, 'p1')
/** what goes on afterwards is a fault at once, not after the time that tap allows */
const silent = { silentMs: 1_000_000_000 }

/**
 * All streams have ended. Not asked is whether Node keeps connections for others: it does, even one on which nothing
 * was asked.
 * @param {import('node:http').IncomingMessage[]} requests
 */
const areLeft = (requests) => eventually(() => requests.every(({ socket }) => socket.destroyed))

t.test('aborted before it begins: no request is sent', { buffered: true }, async (t) => {
  const { url, requests } = await startScript(t, streaming(SNAPSHOT))
  const events = []
  for await (const event of follow(url, 'latest', { signal: AbortSignal.abort() })) events.push(event)
  t.same([events, requests.length], [[], 0])
})

t.test('aborted while it waits for a response, an event or a retry', { buffered: true }, async (t) => {
  for (const [answer, isThere] of /** @type {[any, (following: any) => boolean][]} */ ([
    [() => {}, ({ requests }) => requests.length === 1],
    [streaming(SNAPSHOT), ({ events }) => events.length === 1],
    [refusing(503, 'OVERLOADED', { 'retry-after': '3600', connection: 'close' }), ({ retries }) => retries.length === 1]
  ])) {
    const { url, requests } = await startScript(t, answer)
    const following = startFollowing(t, url, 'latest', silent)
    await eventually(() => isThere({ requests, ...following }))
    await following.stop()
    await areLeft(requests)
    t.equal(requests.length, 1)
  }
})

t.test('aborted while an event is handled: no more events come', { buffered: true }, async (t) => {
  const { url, requests } = await startScript(t, streaming(SNAPSHOT + SNAPSHOT + SNAPSHOT))
  const over = new AbortController()
  const events = []
  for await (const event of follow(url, 'latest', { ...silent, signal: over.signal })) {
    events.push(event)
    over.abort()
    await areLeft(requests)
  }
  t.equal(events.length, 1)
})

t.test('left by break, by an error, or with a pending next()', { buffered: true }, async (t) => {
  const { url, requests } = await startScript(t, streaming(SNAPSHOT))
  const seen = []
  for await (const { event } of follow(url, 'latest', silent)) {
    seen.push(event)
    if (event === 'snapshot') break
  }
  t.same(seen, ['snapshot'])
  await areLeft(requests)

  const failing = async () => {
    for await (const { event } of follow(url, 'latest', silent)) if (event === 'snapshot') throw new Error(event)
  }
  await t.rejects(failing(), /snapshot/)
  await areLeft(requests)

  const events = follow(url, 'latest', silent)
  await events.next()
  const next = events.next()
  await events.return()
  t.same(await next, { value: undefined, done: true })
  t.same(await events.next(), { value: undefined, done: true })
  await areLeft(requests)

  const unread = follow(url, 'latest', silent)
  await unread.return()
  t.same(await unread.next(), { value: undefined, done: true })
})

t.test('errors of onRetry reach the caller', { buffered: true }, async (t) => {
  const { url } = await startScript(t, refusing(503, 'OVERLOADED'))
  await t.rejects(startFollowing(t, url, 'latest', { onRetry () { throw new Error('enough') } }).following, /enough/)
})

t.test('many followers may share a signal', { buffered: true }, async (t) => {
  const warnings = /** @type {string[]} */ ([])
  const warn = (/** @type {Error} */ { message }) => { warnings.push(message) }
  process.on('warning', warn)
  t.teardown(() => process.off('warning', warn))
  const over = new AbortController()
  const { url, requests } = await startScript(t, (response, request) =>
    request.url?.includes('busy') ? refusing(503, 'OVERLOADED', { connection: 'close' })(response) : streaming(SNAPSHOT)(response))
  const all = Array.from({ length: 30 }, () => startFollowing(t, url, 'latest', { signal: over.signal }))
  const busy = startFollowing(t, url, 'busy', { signal: over.signal })
  await eventually(() => all.every(({ events }) => events.length === 1) && busy.retries.length === 4)
  over.abort()
  await Promise.all([...all, busy].map(({ following }) => following))
  await areLeft(requests)
  await pause(0)
  t.same(warnings, [])
})

t.test('the process ends afterwards: nothing is pending', { buffered: true }, async (t) => {
  const { url } = await startScript(t, (response, request) => {
    if (request.url?.includes('unknown')) return refusing(404, 'FEED_UNKNOWN')(response)
    return request.url?.includes('busy') ? refusing(503, 'OVERLOADED', { 'retry-after': '60' })(response) : streaming(SNAPSHOT)(response)
  })
  const program = `
    import { follow } from ${JSON.stringify(new URL('../../src/client.js', import.meta.url).href)}
    const [url] = process.argv.slice(1)
    const over = new AbortController()
    const busy = new AbortController()
    for await (const { event } of follow(url, 'latest')) break
    for await (const { event } of follow(url, 'latest', { signal: over.signal })) over.abort()
    for await (const _ of follow(url, 'busy', { signal: busy.signal, onRetry: () => setImmediate(() => busy.abort()) })) break
    try { for await (const _ of follow(url, 'unknown')) break } catch (error) { console.log(error.code) }
    await new Promise(setImmediate)
    console.log(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length)`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', program, url],
    { cwd: fileURLToPath(new URL('.', import.meta.url)), env: { PATH: process.env.PATH } })
  t.equal(stdout, 'FEED_UNKNOWN\n0\n')
})
