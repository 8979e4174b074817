import { once } from 'node:events'
import { createServer } from 'node:net'
import t from 'tap'
import { main as runFeed } from '../../bin/feed.js'
import { main as runReader } from '../../readers/server.js'
import { main as runWriter } from '../../writers/feed.js'
import { endOf } from '../commands.js'
import { startWriter } from '../flow/writer.js'
import { connectFor, startServer } from '../servers.js'
import { scopedEngines, wholeTest } from '../scope.js'
import { sharedDeployment } from '../shared.js'

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
  await t.rejects(runReader({ argv: ['--port', '70000'], env: {} }), { exitStatus: 2, message: /port: 70000 \(--port\)/ })
  for (const [action, message] of /** @type {[string[], RegExp][]} */ ([[['show', 'UPPER'], /feed name "UPPER"; expected (text: )?a-z/],
    [['destroy'], /unknown action destroy; expected list/]])) {
    await t.rejects(runFeed({ argv: [...action, '--redis-url', NOWHERE], env: {} }), { exitStatus: 2, message })
  }
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
  /** @type {[main: typeof runFeed, name: string, flags: string[]][]} */
  const commands = [[runWriter, 'writer', ['--items', '10']], [runReader, 'reader', ['--port', '0']], [runFeed, 'feed', ['list']]]
  await Promise.all(cases.map(async ([what, url, sentence, usable = []]) => {
    for (const [main, name, flags] of commands.filter(([, name]) => !usable.includes(name))) {
      const startedAt = performance.now()
      const error = await main({ argv: [...flags, '--redis-url', url], env: {} }).then(() => ({}), (error) => error)
      const seconds = (performance.now() - startedAt) / 1000
      t.match(error, { exitStatus: 1, message: sentence }, `${name}: ${what}`)
      t.notMatch(error.message, /the-wrong-one|password-of-mute/, 'no password')
      t.ok(seconds < 15, `${what}: ended after ${seconds.toFixed(1)} s`)
      if (seconds >= 5) t.comment(`${what}: ${seconds.toFixed(1)} s, more than 5`)
    }
  }))
  const url = locked.url.replace('//', '//:the-wrong-one@')
  const ended = await endOf(t, ['writer', '--items', '10', '--redis-url', url])
  isPlain(t, ended, 1, /WRONGPASS/)
  t.notMatch(ended.stderr, /the-wrong-one/)
})

wholeTest('a writer reports that the port of its metrics is in use', { buffered: true }, async (t) => {
  const { url, port } = await startServer(t, { engine })
  await t.rejects(runWriter({ argv: ['--metrics-port', String(port), '--redis-url', url, '--read-from', 'primary'], env: {} }),
    { exitStatus: 1, message: new RegExp(`^port ${port} on 127\\.0\\.0\\.1 is in use; .* choose another --metrics-port`) })
})

t.test('a key of the feed that holds something else ends the writer with its code', { buffered: true }, async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const admin = await connectFor(t, redisUrl)
  await admin.send('SET', `${keyPrefix}{latest:0}:ids`, 'mine')
  const { code, stderr, summary } = await startWriter(t, ['--items', '10'], { redisUrl, keyPrefix }).ended()
  t.equal(code, 1)
  t.match(stderr, /"code":"KEY_HOLDS_OTHER".*WRONGTYPE/)
  t.notMatch(stderr, /^\s+at /m)
  // how many were offered before the first batch was refused is chance
  t.match(summary, { items: 0, failed: summary.offered })
  t.ok(summary.offered >= 1 && summary.offered <= 10)
})
