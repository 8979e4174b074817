/** `npm start top` with a real reader, writers and servers: as text, and in a pseudo terminal. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { endOf, runCommand, startReader } from '../commands.js'
import { eventually, startDeployment, testEngines } from '../servers.js'
import { actingIn, inTerminal, noTerminal } from './top/in-terminal.js'

const FRESHET = fileURLToPath(new URL('../../bin/freshet.js', import.meta.url))
const SKIP = { skip: noTerminal }
const HOSTILE = '\u001b]0;owned\u0007\u001b[2J\u009b31m\u202e'

/** @param {string} url @param {string[]} flags */
const top = (url, ...flags) => [FRESHET, 'top', '--url', url, ...flags]

/** @param {import('tap').Test} t @param {{ flags?: string[] }} [options] of the reader; a feed with a writer, and one that has some items */
async function startFeeds (t, { flags = [] } = {}) {
  const [engine] = await testEngines()
  const { primary, replicas } = await startDeployment(t, { engine, replicas: 1 })
  const to = ['--redis-url', primary.url, '--log-level', 'warn']
  runCommand(t, ['writer', '--rate', '300', '--ids', '50', ...to])
  const input = [{ id: 'bus-7', value: 'stop 12' }, { id: 'bus\u202e-8', value: HOSTILE }, { id: '東京-👨‍👩‍👧', value: 'wide' }]
    .map((one) => JSON.stringify({ ...one, ts: Date.now() })).join('\n')
  const written = await endOf(t, ['writer', '--feed', 'positions', '--layout', 'segments', '--window-ms', '0', '--source', 'stdin', '--value-field', 'value', ...to], { input })
  t.equal(written.code, 0, written.stderr)
  const reader = await startReader(t, { redisUrl: primary.url, flags })
  await eventually(async () => {
    const { json } = await reader.get('/v1/feeds/latest/figures')
    if (!(json?.itemsPerSecond > 0)) throw new Error(`the reader does not know yet how fast it is: ${JSON.stringify(json)}`)
  })
  return { primary, replicas, reader, url: reader.url }
}

t.test('what it shows', async (t) => {
  const { url } = await startFeeds(t)

  await t.test('as text, to a pipe', async (t) => {
    for (const flags of [['--once'], []]) {
      const { code, stdout, stderr } = await endOf(t, ['top', '--url', url, ...flags])
      t.equal(code, 0, stderr)
      t.match(stdout, new RegExp(`^latest {2}layout ids {2}\\S+ \\S+ {2}window 60 s {2}${url} +\\d\\d:\\d\\d:\\d\\d\\n`))
      t.match(stdout, /\n[\d.]+ items\/s .*last \d+ s, up to [\d,.]+\n/)
      t.match(stdout, /\nlive ids 50 {3}newest .* ago {3}writers 1 {3}lag \d+/)
      t.match(stdout, /\nprimary {2}127\.0\.0\.1:\d+ .* up .*\nreplica {2}127\.0\.0\.1:\d+ .* connected /)
      t.equal(stdout.match(/ id-\d+ +\{"writer":0/g)?.length, 10, 'ten items')
      t.notOk(stdout.includes('\x1b'))
    }
  })

  await t.test('the feed that is named, whatever is in it', async (t) => {
    const { code, stdout } = await endOf(t, ['top', '--once', '--feed', 'positions'], { env: { FRESHET_URL: url + '/' } })
    t.equal(code, 0)
    t.match(stdout, /^positions {2}layout segments .* no age limit/)
    t.match(stdout, /bus-7 +stop 12\n/)
    t.match(stdout, /bus\ufffd-8 +␛\]0;owned␇␛\[2J\ufffd31m\ufffd\n/)
    t.match(stdout, /東京-👨‍👩‍👧 +wide\n/)
    t.equal(actingIn(stdout), '')
  })

  await t.test('in a terminal: keys, sizes, an end', SKIP, async (t) => {
    const terminal = inTerminal(t, top(url))
    const first = await terminal.until(/ id-\d+ +\{"writer":0[\s\S]* q {2}quit .* feed 1 of 2 /)
    t.match(first, /^latest {2}layout ids/)
    t.match(first, /\n.*[▀▄█].*\n.*\n.*\nitems\/s +last \d+ s, up to/)
    await eventually(async () => { if (terminal.screen.join('\n') === first) throw new Error('it stands still') })
    terminal.press('\x1b[C')
    t.match(await terminal.until(/^positions [\s\S]*bus-7 +stop 12\n/), /feed 2 of 2/)
    t.equal(actingIn(terminal.output), '', 'what is hostile does nothing')
    terminal.press('/bus-77\x7f\r')
    await terminal.until(/\nbus-7 {2}.* old {2}stop 12\n/)
    terminal.press('/none\r')
    await terminal.until(/\nlooking for none: ITEM_UNKNOWN: /)
    terminal.press('/q')
    await terminal.until(/\n id: q {3}Enter/)
    terminal.press('\x1b')
    await terminal.until(/ q {2}quit /)
    terminal.press('p')
    await terminal.until(/^positions .* paused\n[\s\S]* p {2}go on/)
    terminal.press('\t')
    await terminal.until(/^latest .*\d\n[\s\S]* id-\d+ /)
    await terminal.resize(60, 12)
    await terminal.until(/^latest .*\n[\d.]+ items\/s /)
    t.equal(terminal.screen.length, 12)
    t.ok(terminal.screen.every((line) => line.length <= 60))
    terminal.press('q')
    t.match(await terminal.ended(), { status: 0, isRestored: true, screen: /^\/dev\/\S+\npid \d+\nstatus 0\n/ })
  })

  await t.test('the terminal is as it was, however it ends', SKIP, async (t) => {
    for (const [how, end] of /** @type {[string, (terminal: ReturnType<typeof inTerminal>) => void][]} */ ([
      ['Ctrl-C', (terminal) => terminal.press('\x03')],
      ['SIGTERM', (terminal) => terminal.kill('SIGTERM')],
      ['SIGHUP', (terminal) => terminal.kill('SIGHUP')]
    ])) {
      const terminal = inTerminal(t, top(url))
      await terminal.until(/ q {2}quit /)
      end(terminal)
      t.match(await terminal.ended(), { status: 0, isRestored: true }, how)
    }
    const code = `import { openTerminal } from './bin/top/terminal.js'
      const nothing = () => {}
      openTerminal({ input: process.stdin, output: process.stdout, onKey: nothing, onResize: nothing, onGone: nothing }).show(['shown'])
      setTimeout(() => { throw new Error('unforeseen') }, 50)`
    const terminal = inTerminal(t, ['--input-type=module', '-e', code])
    t.match(await terminal.ended(), { status: 1, isRestored: true, screen: /Error: unforeseen/ }, 'the error is said behind the screen')
    t.ok(terminal.output.includes('shown'))
  })

  await t.test('NO_COLOR takes colors away, a dumb terminal gets text', SKIP, async (t) => {
    const colored = /\x1b\[3\dm/ // eslint-disable-line no-control-regex
    for (const [env, isColored] of /** @type {[Record<string, string>, boolean][]} */ ([[{ NO_COLOR: '1' }, false], [{}, true]])) {
      const terminal = inTerminal(t, top(url), { env })
      await terminal.until(/ id-\d+ /)
      t.equal(colored.test(terminal.output), isColored)
      terminal.press('q')
      await terminal.ended()
    }
    const terminal = inTerminal(t, top(url), { env: { TERM: 'dumb' } })
    t.match(await terminal.ended(), { status: 0 })
    t.notOk(terminal.output.includes('\x1b'))
    t.match(terminal.output, /items\/s/)
  })
})

t.test('a reader that goes away, servers that go away', SKIP, async (t) => {
  const { primary, replicas, reader, url } = await startFeeds(t)
  const terminal = inTerminal(t, top(url))
  await terminal.until(/ id-\d+ /)
  await reader.command.kill()
  await terminal.until(/^latest .*\nthe reader does not answer since \d\d:\d\d:\d\d, .* ago \(ECONNREFUSED\)/)
  runCommand(t, ['reader', '--redis-url', primary.url, '--port', new URL(url).port])
  await terminal.until(/^latest .*\n\n[\s\S]* id-\d+ /)
  await Promise.all([primary, ...replicas].map((server) => server.kill()))
  const screen = await terminal.until(/\nnot ready: [\s\S]*\nlive ids – {3}newest – {3}writers – {3}lag –\n/)
  t.match(screen, /\nprimary .* down /)
  terminal.press('q')
  t.match(await terminal.ended(), { status: 0, isRestored: true })
})

t.test('a reader that pushes to those with a token', SKIP, async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-test-'))
  t.teardown(() => rm(folder, { recursive: true }))
  await writeFile(join(folder, 'tokens'), 'a-token-of-the-test\n')
  const { url } = await startFeeds(t, { flags: ['--live-tokens', join(folder, 'tokens')] })
  const without = inTerminal(t, top(url))
  await without.until(/\nlive ids 50 [\s\S]*\nthe newest items are not shown: .*--live-token\)\n/)
  without.press('q')
  t.match(await without.ended(), { status: 0 })
  const terminal = inTerminal(t, top(url), { env: { FRESHET_LIVE_TOKEN: 'a-token-of-the-test' } })
  await terminal.until(/ id-\d+ +\{"writer":0/)
  t.notOk(terminal.output.includes('a-token-of-the-test'))
})

t.test('what cannot be shown has one line that says what to do', async (t) => {
  const [engine] = await testEngines()
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  const reader = await startReader(t, { redisUrl: primary.url, flags: ['--read-from', 'primary'] })
  const other = createServer((_, response) => response.end('<html>\x1b[2J')).listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const otherUrl = `http://127.0.0.1:${/** @type {any} */ (other.address()).port}`
  for (const [url, flags, words] of /** @type {[string, string[], RegExp][]} */ ([
    ['http://127.0.0.1:1', ['--once'], /^freshet top: no reader answers at http:\/\/127\.0\.0\.1:1 \(.+\): start one with npm start reader, or name another with --url\n$/],
    [otherUrl, ['--once'], /^freshet top: no reader answers at \S+ \(what answers there is no reader, status 200\): .*\n$/],
    [reader.url, ['--once'], /^freshet top: the reader at \S+ has no feed yet: npm start writer begins one\n$/],
    [reader.url, ['--feed', 'none'], /^freshet top: the reader at \S+ has no feed none; it has none\n$/]
  ])) t.match(await endOf(t, ['top', '--url', url, ...flags]), { code: 1, stdout: '', stderr: words }, `${flags.join(' ')}`)
  t.match(await endOf(t, ['top', '--url', 'reader:8080']), { code: 2, stderr: /url: reader:8080 \(--url\); expected http:/ })
  if (noTerminal) return
  const nobody = inTerminal(t, top('http://127.0.0.1:1'))
  t.match(await nobody.ended(), { status: 1, screen: /freshet top: no reader answers/ }, 'in a terminal as well')
  t.notOk(nobody.output.includes('\x1b'), 'before it becomes a screen')
  const waiting = inTerminal(t, top(reader.url))
  await waiting.until(/^no feed .*\nthere is no feed yet/)
  runCommand(t, ['writer', '--redis-url', primary.url, '--rate', '50', '--log-level', 'warn'])
  await waiting.until(/^latest .*\n[\s\S]* id-\d+ /)
})
