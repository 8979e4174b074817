/** Bad responses of a reader or proxy: not events, interrupted, endless, silent or invalid. */
import t from 'tap'
import { follow } from '../../src/client.js'
import { eventually } from '../servers.js'
import { ending, eventText, refusing, startFollowing, startScript, streaming } from './following.js'

const text = (/** @type {any} */ { id, value }) => `${id} ${Buffer.from(value)}`
t.jobs = 4
const SNAPSHOT = eventText('snapshot', { a: '1' }, 'p1')

t.test('byte by byte, with CR LF and a byte order mark', { buffered: true }, async (t) => {
  const stream = Buffer.from('\ufeff: hello\r\nretry: ' +
    `1\r\n\r\n${SNAPSHOT.replaceAll('\n', '\r\n')}${eventText('items', { '\u{1f600}': '\u20ac' }, 'p2').replaceAll('\n', '\r\n')}`)
  const { url } = await startScript(t, streaming(...Array.from(stream, (byte) => Uint8Array.of(byte))))
  const { events } = startFollowing(t, url, 'latest')
  await eventually(() => events.length === 2)
  t.same(events.map(({ event, items, position }) => [event, items.map(text), position]),
    [['snapshot', ['a 1'], 'p1'], ['items', ['\u{1f600} \u20ac'], 'p2']])
})

t.test('after an interrupted event the client resumes after the last complete one', { buffered: true }, async (t) => {
  const { url, requests } = await startScript(t, ending('retry: 1\n\n', SNAPSHOT, eventText('items', { b: '2' }, 'p2').slice(0, -1)),
    streaming(eventText('items', { b: '2' }, 'p2')))
  const { events, retries } = startFollowing(t, url, 'latest')
  await eventually(() => events.length === 2)
  t.same(requests.map(({ headers }) => headers['last-event-id']), [undefined, 'p1'])
  t.same(events.map(({ position }) => position), ['p1', 'p2'])
  t.match(retries[0].error.message, /the stream ended/)
})

t.test('parts without a position, and heartbeats with one', { buffered: true }, async (t) => {
  const { url, requests } = await startScript(t,
    ending(SNAPSHOT, eventText('items', { b: '2' }), eventText('items', { c: '2' }, 'p2'), eventText('items', { d: '3' })),
    ending(': \nid: p3\n\n'), streaming(': \n\n'))
  const { events } = startFollowing(t, url, 'latest')
  await eventually(() => requests.length === 3)
  t.same(events.map(({ position }) => position), ['p1', 'p1', 'p2', 'p2'], 'a client that resumes after a part gets all parts again')
  t.same(requests.map(({ headers }) => headers['last-event-id']), [undefined, 'p2', 'p3'])
})

t.test('a reset forgets the position', { buffered: true }, async (t) => {
  const { url, requests } = await startScript(t, ending(SNAPSHOT, 'event: reset\ndata: {"reason":"rebuilt"}\n\n'), streaming(SNAPSHOT))
  const { events } = startFollowing(t, url, 'latest')
  await eventually(() => events.length === 3)
  t.same(events[1], { event: 'reset', reason: 'rebuilt', position: null })
  t.same(requests.map(({ headers }) => headers['last-event-id']), [undefined, undefined])
})

t.test('a position that the reader refuses: a reset, and a request without it at once', { buffered: true }, async (t) => {
  const { url, requests } = await startScript(t, refusing(400, 'POSITION_INVALID'), streaming(SNAPSHOT))
  const { events, retries } = startFollowing(t, url, 'latest', { from: 'of-another-feed' })
  await eventually(() => events.length === 2)
  t.same(events[0], { event: 'reset', reason: 'invalid', position: null })
  t.same([requests.map(({ headers }) => headers['last-event-id']), retries], [['of-another-feed', undefined], []])
})

t.test('unknown events are skipped, invalid ones end the connection', { buffered: true }, async (t) => {
  const faulty = ['event: items\ndata: {"items":[{"id":"x"\nid: p9\n\n', 'event: items\ndata: {}\nid: p9\n\n',
    'event: snapshot\ndata: {"items":[{"id":"x","ts":1,"value":"*"}]}\nid: p9\n\n']
  const { url, requests } = await startScript(t, ending('event: news\ndata: not json\n\ndata: hello\n\n', SNAPSHOT),
    ...faulty.map((one) => streaming(one)), streaming(eventText('items', { b: '2' }, 'p2')))
  const { events, retries } = startFollowing(t, url, 'latest')
  await eventually(() => events.length === 2)
  t.same(events.map(({ event }) => event), ['snapshot', 'items'])
  t.same(requests.map(({ headers }) => headers['last-event-id']), [undefined, 'p1', 'p1', 'p1', 'p1'])
  t.ok(retries[retries.length - 1].waitMs > retries[0].waitMs, 'longer waits as long as nothing comes')
})

t.test('an endless event is not buffered without bound', { buffered: true }, async (t) => {
  let sent = 0
  const endless = async (/** @type {import('node:http').ServerResponse} */ response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    while (!response.destroyed) {
      sent += 1024 * 1024
      await new Promise((resolve) => response.write('x'.repeat(1024 * 1024), resolve))
    }
  }
  const { url } = await startScript(t, endless, streaming(SNAPSHOT))
  const { events, retries } = startFollowing(t, url, 'latest')
  await eventually(() => events.length === 1)
  t.match(retries[0].error.message, /an event of more than \d+ characters/)
  t.ok(sent < 64 * 1024 * 1024, `${sent} bytes were sent`)
})

t.test('a response that is no event stream is refused, with its content type', { buffered: true }, async (t) => {
  const answer = (/** @type {number} */ status, /** @type {Record<string, string>} */ headers, body = '') =>
    (/** @type {import('node:http').ServerResponse} */ response) => response.writeHead(status, headers).end(body)
  /** @type {[answer: any, error: object][]} */
  const cases = [
    [answer(200, { 'content-type': 'text/html' }, '<h1>Welcome</h1>'),
      { code: 'NOT_EVENTS', status: 200, message: /text\/html instead of events; is it the address of a reader\?/ }],
    [answer(200, { 'content-type': 'text/event-streams' }), { code: 'NOT_EVENTS' }],
    [answer(200, {}), { code: 'NOT_EVENTS', message: /no content type/ }],
    [refusing(404, 'FEED_UNKNOWN'), { code: 'FEED_UNKNOWN', status: 404, retryable: false, message: /FEED_UNKNOWN: so it is/ }],
    [refusing(501, 'VIEW_NEEDED'), { code: 'VIEW_NEEDED', status: 501, retryable: false }],
    [refusing(400, 'POSITION_INVALID'), { code: 'POSITION_INVALID', status: 400 }]
  ]
  for (const [respond, error] of cases) {
    const { url, requests } = await startScript(t, respond)
    await t.rejects(startFollowing(t, url, 'latest').following, { name: 'FollowError', ...error })
    t.equal(requests.length, 1)
  }
})

t.test('a refusal that is no problem of a reader, as of a proxy that has lost it, does not end the loop', { buffered: true }, async (t) => {
  const answer = (/** @type {number} */ status, /** @type {Record<string, string>} */ headers, body = '') =>
    (/** @type {import('node:http').ServerResponse} */ response) => response.writeHead(status, headers).end(body)
  /** @type {[respond: any, error: object][]} */
  const cases = [
    [answer(404, { 'content-type': 'text/plain' }, 'no such page'), { status: 404, message: /status 404: no such page/ }],
    [answer(403, { 'content-type': 'application/json' }, '{"message":"not you"}'), { status: 403, message: /not you/ }],
    [answer(404, { 'content-type': 'application/json' }, '{"code":"FEED_UNKNOWN"}'), { status: 404 }],
    [answer(404, { 'content-type': 'application/problem+json; charset=utf-8' }, '{"code":"FEED_UNK'), { status: 404 }],
    [answer(501, {}), { status: 501 }],
    [answer(204, {}), { status: 204, message: /status 204: \(empty\)/ }],
    [(/** @type {import('node:http').ServerResponse} */ response) => {
      const more = setInterval(() => response.write('x'.repeat(64 * 1024)), 1)
      response.writeHead(400).once('close', () => clearInterval(more))
    }, { status: 400 }]
  ]
  await Promise.all(cases.map(async ([respond, error]) => {
    const { url } = await startScript(t, respond, streaming(SNAPSHOT))
    const { events, retries } = startFollowing(t, url, 'latest')
    await eventually(() => events.length === 1)
    t.match(retries.map((one) => one.error), [{ name: 'FollowError', code: 'HTTP_ERROR', retryable: true, ...error }])
  }))
})

t.test('transient errors are retried: not before Retry-After, at another reader if there is one', { buffered: true }, async (t) => {
  for (const [status, code] of /** @type {[number, string][]} */ ([[503, 'OVERLOADED'], [429, 'HTTP_ERROR'], [500, 'INTERNAL']])) {
    const { url } = await startScript(t, refusing(status, code, { 'retry-after': '1' }), streaming(SNAPSHOT))
    const { events, retries } = startFollowing(t, url, 'latest')
    await eventually(() => events.length === 1)
    t.match(retries, [{ error: { name: 'FollowError', code, status, retryable: true } }])
    t.ok(retries[0].waitMs >= 1000 && retries[0].waitMs <= 1250, `${retries[0].waitMs} ms`)
  }

  const inAnHour = new Date(Date.now() + 3_600_000).toUTCString()
  const [busy, free] = [await startScript(t, refusing(503, 'OVERLOADED', { 'retry-after': inAnHour })),
    await startScript(t, ending(SNAPSHOT), ending(': \nid: p2\n\n'), streaming(SNAPSHOT))]
  const { events, retries } = startFollowing(t, [busy.url, free.url], 'latest')
  await eventually(() => events.length === 2)
  t.same([busy.requests.length, free.requests.length], [1, 3], 'a Retry-After of an hour is respected')
  t.ok(retries.every(({ waitMs }) => waitMs <= 1000))

  const later = await startScript(t, refusing(503, 'OVERLOADED', { 'retry-after': '99999999999' }))
  const waiting = startFollowing(t, later.url, 'latest')
  await eventually(() => waiting.retries.length === 1)
  t.ok(waiting.retries[0].waitMs <= 1.25 * 3_600_000, 'an hour at most')
  await waiting.stop()
})

t.test('delays are those of the reader, with jitter, and double while nothing comes', { buffered: true }, async (t) => {
  const { url } = await startScript(t, ending('retry: 400\n\n', SNAPSHOT))
  const polite = startFollowing(t, url, 'latest')
  await eventually(() => polite.retries.length === 3)
  t.ok(polite.retries.every(({ waitMs }) => waitMs >= 200 && waitMs <= 400), JSON.stringify(polite.retries.map(({ waitMs }) => waitMs)))
  await polite.stop()

  const { url: gone, server } = await startScript(t, streaming())
  await new Promise((resolve) => server.close(resolve))
  const alone = startFollowing(t, gone, 'latest')
  await eventually(() => alone.retries.length === 4)
  const waits = alone.retries.map(({ waitMs }) => waitMs)
  waits.forEach((waitMs, n) => t.ok(waitMs >= 125 * 2 ** n - 1 && waitMs <= 250 * 2 ** n + 1, `${waitMs} ms`))
  t.match(alone.retries[0].error.message, new RegExp(`${gone}: .*ECONNREFUSED`))
})

t.test('a silent connection is closed, before or after the response', { buffered: true }, async (t) => {
  const { url } = await startScript(t, () => {}, (response, request) =>
    streaming('retry: 1\n\n', request.headers['last-event-id'] === 'p1' ? eventText('items', { b: '2' }, 'p2') : SNAPSHOT)(response))
  const { events, retries } = startFollowing(t, url, 'latest', { silentMs: 300 })
  await eventually(() => events.length >= 2)
  t.match(retries[0].error.message, /no data for 300 ms/)
  t.same(events.slice(0, 2).map(({ event, position }) => [event, position]), [['snapshot', 'p1'], ['items', 'p2']])
})

t.test('time spent on an event does not count as silence', { buffered: true }, async (t) => {
  /** @type {import('node:http').ServerResponse[]} */
  const responses = []
  const { url } = await startScript(t, (response) => {
    responses.push(response)
    return streaming(SNAPSHOT, eventText('items', { b: '2' }, 'p2'))(response)
  })
  for await (const { event } of follow(url, 'latest', { silentMs: 500 })) {
    const connections = responses.length
    await new Promise((resolve) => setTimeout(resolve, 1200))
    t.same([responses.length, responses.at(-1)?.destroyed], [connections, false])
    if (event === 'items') break
  }
})

t.test('while the caller handles an event, only sockets buffer data', { buffered: true }, async (t) => {
  const part = eventText('items', { a: 'x'.repeat(48 * 1024) })
  const wanted = 512 * 1024 * 1024
  let sent = 0
  const { url } = await startScript(t, async (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.on('close', () => { sent = NaN })
    while (sent < wanted) {
      await new Promise((resolve) => response.write(part, resolve))
      sent += part.length
    }
  })
  const events = follow(url, 'latest')
  t.equal((await events.next()).value?.event, 'items')
  let before = -1
  await eventually(async () => {
    const isStill = sent === before && sent > 0
    before = sent
    if (!isStill) await new Promise((resolve) => setTimeout(resolve, 300))
    return isStill
  })
  t.ok(sent < 48 * 1024 * 1024, `${sent} bytes in sockets and buffers`)
  for (let n = 0; n < 1000; n++) await events.next()
  await eventually(() => sent > before)
  await events.return()
  await eventually(() => Number.isNaN(sent))
})

t.test('without onRetry the first failure is a warning, so that a wrong address does not look like a feed without changes', async (t) => {
  const noReader = (/** @type {import('node:http').ServerResponse} */ response) => response.writeHead(404).end('no such page')
  const { url, requests } = await startScript(t, noReader, noReader, streaming(eventText('snapshot', { a: '1' }, 'p1')))
  /** @type {string[]} */
  const warnings = []
  const { warn } = console
  console.warn = (/** @type {string} */ text) => warnings.push(text)
  t.teardown(() => { console.warn = warn })
  const { events } = startFollowing(t, url, 'latest', { onRetry: undefined })
  await eventually(() => events.length === 1)
  t.same([requests.length, warnings],
    [3, [`follow: ${url} responded with status 404: no such page; trying again until it answers (onRetry gets each failure)`]])
})
