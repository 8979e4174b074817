/** `npm start top` without a feed, or without a reader. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import t from 'tap'
import { endOf, runCommand, runReader } from '../../test/commands.js'
import { startDeployment } from '../../test/servers.js'
import { bearer, tokenFileFor } from '../../test/http/guarded.js'
import { startFeeds, top } from '../../test/bin/top/feeds.js'
import { inTerminal, noTerminal } from '../../test/in-terminal.js'
import { scopedEngines } from '../../test/scope.js'

const TOKEN = 'a-token-of-the-test'
const SKIP = { skip: noTerminal }

t.test('the reader stops, then the servers', SKIP, async (t) => {
  const { primary, replicas, reader, url } = await startFeeds(t)
  const terminal = inTerminal(t, top(url))
  await terminal.until(/ bus-\d+ /)
  await reader.service.stop()
  await terminal.until(/^latest .*\nthe reader has not answered since \d\d:\d\d:\d\d, .* ago \(ECONNREFUSED\)/)
  runCommand(t, ['reader', '--redis-url', primary.url, '--port', new URL(url).port])
  await terminal.until(/^latest .*\n\n[\s\S]* bus-\d+ /)
  await Promise.all([primary, ...replicas].map((server) => server.kill()))
  const screen = await terminal.until(/\nnot ready: [\s\S]*\nlive ids – {3}newest – {3}writers – {3}lag –\n/)
  t.match(screen, /\nprimary .* down /)
  terminal.press('q')
  t.match(await terminal.ended(), { status: 0, isRestored: true })
})

t.test('a reader that requires a token', SKIP, async (t) => {
  const { file } = await tokenFileFor(t, [{ token: TOKEN, scopes: ['read'], feeds: ['latest', 'positions'] }])
  const { url } = await startFeeds(t, { flags: ['--tokens', file], headers: bearer(TOKEN) })
  const without = inTerminal(t, top(url))
  await without.until(/\nthe reader at \S+ requires a token: set FRESHET_TOKEN, or --token\n/)
  without.press('q')
  t.match(await without.ended(), { status: 0 })
  const terminal = inTerminal(t, top(url), { env: { FRESHET_TOKEN: TOKEN } })
  await terminal.until(/ bus-\d+ +\{"line":"M/)
  t.notOk(terminal.output.includes(TOKEN))
})

t.test('every failure is one line with advice', async (t) => {
  const [engine] = await scopedEngines()
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  const reader = await runReader(t, { redisUrl: primary.url, flags: ['--read-from', 'primary'] })
  const other = createServer((_, response) => response.end('<html>\x1b[2J')).listen(0, '127.0.0.1')
  t.teardown(() => other.close())
  await once(other, 'listening')
  const otherUrl = `http://127.0.0.1:${/** @type {any} */ (other.address()).port}`
  for (const [url, flags, words] of /** @type {[string, string[], RegExp][]} */ ([
    ['http://127.0.0.1:1', ['--once'],
      /^freshet top: no reader at http:\/\/127\.0\.0\.1:1 \(.+\); start one with npm start reader, or set --url\n$/],
    [otherUrl, ['--once'], /^freshet top: no reader at \S+ \(the reply with status 200 is not from a reader\); .*\n$/],
    [reader.url, ['--once'], /^freshet top: the reader at \S+ has no feed yet; npm start writer creates one\n$/],
    [reader.url, ['--feed', 'none'], /^freshet top: the reader at \S+ has no feed none; it has none\n$/]
  ])) t.match(await endOf(t, ['top', '--url', url, ...flags]), { code: 1, stdout: '', stderr: words }, `${flags.join(' ')}`)
  t.match(await endOf(t, ['top', '--url', 'reader:8080']), { code: 2, stderr: /url: reader:8080 \(--url\); expected http:/ })
  if (noTerminal) return
  const failing = inTerminal(t, top('http://127.0.0.1:1'))
  t.match(await failing.ended(), { status: 1, screen: /freshet top: no reader at/ }, 'also in a terminal')
  t.notOk(failing.output.includes('\x1b'), 'before the screen opens')
  const waiting = inTerminal(t, top(reader.url))
  await waiting.until(/^no feed .*\nthere is no feed yet/)
  runCommand(t, ['writer', '--redis-url', primary.url, '--rate', '50', '--log-level', 'warn'])
  await waiting.until(/^latest .*\n[\s\S]* bus-\d+ /)
})
