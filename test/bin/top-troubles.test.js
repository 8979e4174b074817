/** `npm start top` when there is nothing to show, or nobody to ask. */
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { endOf, runCommand, startReader } from '../commands.js'
import { startDeployment, testEngines } from '../servers.js'
import { startFeeds, top } from './top/feeds.js'
import { inTerminal, noTerminal } from './top/in-terminal.js'

const SKIP = { skip: noTerminal }

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
