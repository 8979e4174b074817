/** Arguments of the client, and errors for invalid ones. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { follow } from '../../src/client.js'
import { eventually } from '../servers.js'
import { eventText, startFollowing, startScript, streaming } from './following.js'

const URL_1 = 'http://127.0.0.1:1'

const call = (/** @type {any[]} */ [readers, feed, ...options]) => follow(readers, feed, ...options)

t.test('invalid arguments are refused before any request, with what is expected', async (t) => {
  /** @type {[given: any[], message: RegExp][]} */
  const cases = [
    [[], /reader: undefined; expected an address such as http:\/\/127\.0\.0\.1:8080/],
    [[[], 'latest'], /reader: none; expected one or more addresses/],
    [['', 'latest'], /reader: ""; .*\(location\.origin in a page of the reader\)/],
    [['127.0.0.1:8080', 'latest'], /reader: "127\.0\.0\.1:8080"; expected/],
    [['redis://127.0.0.1:6379', 'latest'], /reader: "redis:/],
    [[[URL_1, 'nonsense'], 'latest'], /reader: "nonsense"/],
    [['http://me:secret-word@127.0.0.1:1', 'latest'], /reader: "http:\/\/\.\.\.@127\.0\.0\.1:1"; .*with a token in authToken/],
    [['http://127.0.0.1:1/?feed=latest', 'latest'], /reader: /],
    [[URL_1], /feed: undefined; expected a feed name, such as latest/],
    [[URL_1, ''], /feed: ""/],
    [[URL_1, 'half \ud83d'], /feed: /],
    [[URL_1, 'latest', null], /options: null; expected an object/],
    [[URL_1, 'latest', { max_rate: 1 }],
      /max_rate: unknown option; expected one of ids, limit, maxRate, encoding, from, authToken, signal, onRetry, wait, onWaiting, silentMs/],
    [[URL_1, 'latest', { constructor: 1 }], /constructor: unknown option/],
    [[URL_1, 'latest', { ids: 'bus-7' }], /ids: "bus-7"; expected an array of one or more ids/],
    [[URL_1, 'latest', { ids: [] }], /ids: an array of 0; .*default: all ids/],
    [[URL_1, 'latest', { ids: ['a', 7] }], /ids: an array of 2/],
    [[URL_1, 'latest', { limit: -1 }], /limit: -1; expected a number of items, 0 or more/],
    [[URL_1, 'latest', { limit: '10' }], /limit: "10"/],
    [[URL_1, 'latest', { maxRate: 0 }], /maxRate: 0; expected a number of deliveries per second, above 0/],
    [[URL_1, 'latest', { maxRate: Infinity }], /maxRate: Infinity/],
    [[URL_1, 'latest', { encoding: 'hex' }], /encoding: "hex"; expected base64, utf8 or json/],
    [[URL_1, 'latest', { from: 7 }], /from: 7; expected the position of an event, or null/],
    [[URL_1, 'latest', { from: 'a\nb' }], /from: "a\\nb"/],
    [[URL_1, 'latest', { from: '' }], /from: ""/],
    [[URL_1, 'latest', { authToken: 'secret word' }], /authToken: \(hidden\); expected a token, without spaces/],
    [[URL_1, 'latest', { signal: new AbortController() }], /signal: an object; expected the signal of an AbortController/],
    [[URL_1, 'latest', { onRetry: console }], /onRetry: .*expected a function/],
    [[URL_1, 'latest', { silentMs: 2 ** 31 }], /silentMs: 2147483648; expected milliseconds, 1 or more/]
  ]
  const refused = { name: 'FollowError', code: 'ARGUMENT_INVALID', retryable: false }
  for (const [given, message] of cases) t.throws(() => call(given), { ...refused, message })
  for (const word of [/secret/]) {
    t.notMatch(String(refusal(() => follow('http://me:secret-word@h', 'latest', { authToken: 'secret word' }))), word)
  }
})

/** @param {() => unknown} call */
function refusal (call) {
  try {
    call()
  } catch (error) {
    return error
  }
}

t.test('all faults are named at once', async (t) => {
  t.equal(refusal(() => follow('nowhere', '', /** @type {any} */ ({ limit: -1, nonsense: true })))?.message.split('\n').length, 4)
})

t.test('options become the request', async (t) => {
  const { url, requests } = await startScript(t, streaming(eventText('snapshot', { a: '1' }, 'p1')))
  const ids = ['a&b=c', '\u{1f600} \n', 'd/e?f#g%']
  const { events } = startFollowing(t, `${url}/behind/a/proxy//`, 'a/b',
    { ids, limit: 0, maxRate: 0.5, encoding: 'utf8', from: 'p0', authToken: 'a-token' })
  await eventually(() => events.length === 1)
  const { pathname, searchParams } = new URL(String(requests[0].url), url)
  t.equal(pathname, '/behind/a/proxy/v1/feeds/a%2Fb/live')
  t.same([...searchParams], [...ids.map((id) => ['id', id]), ['limit', '0'], ['maxRate', '0.5'], ['encoding', 'utf8'], ['wait', 'yes']])
  t.match(requests[0].headers, { accept: 'text/event-stream', 'last-event-id': 'p0', authorization: 'Bearer a-token' })

  const plain = startFollowing(t, [new URL(url).href], 'latest', { ids: undefined, limit: undefined, from: null })
  await eventually(() => plain.events.length === 1)
  t.match(requests[1].url, /^\/v1\/feeds\/latest\/live\?encoding=base64&wait=yes$/)
  t.same([requests[1].headers['last-event-id'], requests[1].headers.authorization], [undefined, undefined])
})

t.test('values are bytes, text or parsed JSON, and bytes where a value is not valid in the encoding', async (t) => {
  const item = { id: 'a', ts: 1, value: '{"n":1}' }
  const bytes = { id: 'b', ts: 2, value: Buffer.from([0xff, 0, 7]).toString('base64'), encoding: 'base64' }
  const deleted = { id: 'c', ts: 3, deleted: true }
  const streamOf = (/** @type {object} */ first) =>
    streaming(`event: items\ndata: ${JSON.stringify({ items: [first, bytes, deleted] })}\nid: p\n\n`)
  for (const [encoding, sent, got] of /** @type {[any, any, any]} */ ([
    ['base64', Buffer.from(item.value).toString('base64'), Uint8Array.from(Buffer.from(item.value))],
    ['utf8', item.value, item.value],
    ['json', { n: 1 }, { n: 1 }]
  ])) {
    const { url } = await startScript(t, streamOf({ ...item, value: sent }))
    const { value } = await follow(url, 'latest', { encoding }).next()
    t.same(value, {
      event: 'items', items: [{ id: 'a', ts: 1, value: got }, { id: 'b', ts: 2, value: Uint8Array.of(0xff, 0, 7) }, deleted], position: 'p'
    }, encoding)
  }
})

t.test('it imports nothing and uses nothing specific to Node', async (t) => {
  const text = await readFile(new URL('../../src/client.js', import.meta.url), 'utf8')
  const code = text.replace(/\/\*\*[\s\S]*?\*\//g, '')
  t.notMatch(code, /\bimport\b|\brequire\b|\bBuffer\b|\bprocess\b|node:|setImmediate|\.unref\b/)
})
