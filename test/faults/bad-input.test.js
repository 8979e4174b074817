import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { endOf } from '../commands.js'
import { connectFor, startServer } from '../servers.js'
import { scopedEngines, wholeTest } from '../scope.js'

const NOWHERE = 'redis://127.0.0.1:1'
const [engine] = await scopedEngines()
t.jobs = 2
t.setTimeout(300_000)

/** @param {import('tap').Test} t @param {import('../commands.js').Ended} ended @param {number} code @param {RegExp[]} sentences */
function isPlain (t, { code: given, stdout, stderr }, code, ...sentences) {
  t.equal(given, code)
  for (const sentence of sentences) t.match(stderr, sentence)
  t.notMatch(stderr, /^\s+at /m, 'no stack trace')
  t.equal(stdout, '')
}

t.test('invalid settings are reported all at once, each with its origin, and nothing starts', { buffered: true }, async (t) => {
  const bad = await endOf(t, ['writer', '--redis-url', NOWHERE, '--rate', '-1', '--layout', 'heap', '--feed', 'Not A Name', '--writers',
    '0', '--colour', 'red'], { env: { FRESHET_IDS: 'many' } })
  isPlain(t, bad, 2, /rate: -1 \(--rate\); expected a number from 0/, /layout: heap \(--layout\); expected ids/,
    /feed: Not A Name \(--feed\); expected a name/,
    /writers: 0 \(--writers\)/, /ids: many \(FRESHET_IDS\)/, /--colour is unknown/)
  isPlain(t, await endOf(t, ['reader', '--port', '70000']), 2, /port: 70000 \(--port\)/)
  isPlain(t, await endOf(t, ['feed', 'show', 'UPPER', '--redis-url', NOWHERE]), 2, /feed name "UPPER"; expected (text: )?a-z/)
  isPlain(t, await endOf(t, ['feed', 'destroy', '--redis-url', NOWHERE]), 2, /unknown action destroy; expected list/)
  isPlain(t, await endOf(t, ['wirter']), 2, /^freshet: wirter is unknown; did you mean writer\?\n$/)
  isPlain(t, await endOf(t, ['abc']), 2, /^freshet: abc is unknown; the commands are:\n\n {2}npm start [^]*npm start writer /)
})

t.test('a flag that npm swallowed is reported, with the command line that was meant', { buffered: true }, async (t) => {
  const { code, stderr } = await endOf(t, ['writer', '--rate', '50000'], { npm: true })
  t.equal(code, 2)
  t.match(stderr, /^ +npm start writer -- --rate 50000$/m)
  t.notMatch(stderr, /^\s+at /m)
})

wholeTest('an unusable server is reported clearly and soon', { buffered: true }, async (t) => {
  const silent = createServer((socket) => socket.on('error', () => {}).resume()).listen(0, '127.0.0.1')
  const chatty = createServer((socket) => {
    socket.on('error', () => {}).resume().end('HTTP/1.1 400 Bad Request\r\n\r\n')
  }).listen(0, '127.0.0.1')
  t.teardown(() => [silent, chatty].map((server) => server.close()))
  await Promise.all([silent, chatty].map((server) => once(server, 'listening')))
  const portOf = (/** @type {import('node:net').Server} */ server) => /** @type {import('node:net').AddressInfo} */ (server.address()).port
  const frozen = await startServer(t, { engine })
  frozen.freeze()
  const locked = await startServer(t, { engine, args: ['--requirepass', 'the-right-one'] })
  const primary = await startServer(t, { engine })
  const replica = await startServer(t, { engine, replicaOf: primary })
  const admin = await connectFor(t, primary.url)
  await admin.send('ACL', 'SETUSER', 'mute', 'on', '>password-of-mute', '~*', '+@all', '-info', '-role')

  // a reader waits for servers that may come (view-process.test.js)
  const WAITS = ['reader']
  /** @type {[string, string, RegExp, string[]?][]} the last: commands that can be used with it nevertheless */
  const cases = [
    ['no server listens', NOWHERE, /no server answers at 127\.0\.0\.1:1 \(ECONNREFUSED\)/, WAITS],
    ['it accepts and says nothing', `redis://127.0.0.1:${portOf(silent)}`, /no server answers at/, WAITS],
    ['it is frozen', frozen.url, /no server answers at/, WAITS],
    ['it speaks another protocol', `redis://127.0.0.1:${portOf(chatty)}`, /its replies are not those of Valkey or Redis/, WAITS],
    ['its name is not known', 'redis://no-such-host.invalid', /no server answers at no-such-host\.invalid:6379/, WAITS],
    ['the password is wrong', locked.url.replace('//', '//:the-wrong-one@'), /WRONGPASS/],
    ['the password is missing', locked.url, /NOAUTH/],
    ['the user may not ask', primary.url.replace('//', '//mute:password-of-mute@'), /NOPERM|permission/, ['feed']],
    ['it is a replica', replica.url, /is a replica; give the address of its primary/, ['feed', 'reader']]
  ]
  /** @param {typeof cases[number]} one */
  async function expectTold ([what, url, sentence, usable = []]) {
    const commands = [['writer', '--items', '10'], ['reader', '--port', '0'], ['feed', 'list']].filter(([name]) => !usable.includes(name))
    for (const ended of await Promise.all(commands.map((words) => endOf(t, [...words, '--redis-url', url])))) {
      t.equal(ended.code, 1, what)
      t.match(ended.stderr, sentence)
      t.notMatch(ended.stderr, /^\s+at /m, 'no stack trace')
      t.notMatch(ended.stderr, /the-wrong-one|password-of-mute/, 'no password')
      t.ok(ended.seconds < 15, `${what}: ended after ${ended.seconds.toFixed(1)} s`)
      if (ended.seconds >= 5) t.comment(`${what}: ${ended.seconds.toFixed(1)} s, more than 5`)
    }
  }
  // most of them wait; more side by side would be late for each other's sake
  for (let i = 0; i < cases.length; i += 2) await Promise.all(cases.slice(i, i + 2).map(expectTold))
})

wholeTest('a command reports that its port is in use', { buffered: true }, async (t) => {
  const { url, port } = await startServer(t, { engine })
  for (const [words, flag] of /** @type {[string[], string][]} */ ([
    [['reader', '--port', String(port)], '--port'],
    [['writer', '--metrics-port', String(port)], '--metrics-port'],
    [['writer', '--writers', '2', '--items', '10', '--metrics-port', String(port)], '--metrics-port']
  ])) {
    const { code, stderr } = await endOf(t, [...words, '--redis-url', url, '--read-from', 'primary'])
    t.equal(code, 1)
    t.match(stderr, new RegExp(`port ${port} on 127\\.0\\.0\\.1 is in use; .* choose another ${flag}`))
    t.notMatch(stderr, /^\s+at /m)
  }
})

t.test('a key of the feed that holds something else ends the writer with its code', { buffered: true }, async (t) => {
  const { url } = await startServer(t, { engine })
  const admin = await connectFor(t, url)
  await admin.send('SET', 'fr:{latest:0}:ids', 'mine')
  const { code, stderr, summary } = await endOf(t, ['writer', '--redis-url', url, '--items', '10'])
  t.equal(code, 1)
  t.match(stderr, /"code":"KEY_HOLDS_OTHER".*WRONGTYPE/)
  t.notMatch(stderr, /^\s+at /m)
  // how many were offered before the first batch was refused is chance
  t.match(summary, { items: 0, failed: summary.offered })
  t.ok(summary.offered >= 1 && summary.offered <= 10)
})
