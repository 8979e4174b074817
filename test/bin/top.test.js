/** `npm start top` with a real reader, writers and servers: as text, and in a pseudo terminal. */
import t from 'tap'
import { endOf } from '../commands.js'
import { eventually } from '../servers.js'
import { startFeeds, top } from './top/feeds.js'
import { isWhole } from '../scope.js'
import { actingIn, inTerminal, noTerminal } from '../in-terminal.js'

const SKIP = { skip: noTerminal }
const LONGER = isWhole ? SKIP : { skip: 'runs with npm run regression' }

t.test('top', async (t) => {
  const { url } = await startFeeds(t)

  await t.test('plain text, to a pipe', async (t) => {
    for (const flags of [['--once'], []]) {
      const { code, stdout, stderr } = await endOf(t, ['top', '--url', url, ...flags])
      t.equal(code, 0, stderr)
      t.match(stdout, new RegExp(`^latest {2}layout ids {2}\\S+ \\S+ {2}window 60 s {2}${url} +\\d\\d:\\d\\d:\\d\\d\\n`))
      t.match(stdout, /\n[\d.]+ items\/s .*last \d+ s, up to [\d,.]+\n/)
      t.match(stdout, /\nlive ids 50 {3}newest .* ago {3}writers 1 {3}lag \d+/)
      t.match(stdout, /\nprimary {2}127\.0\.0\.1:\d+ .* up .*\nreplica {2}127\.0\.0\.1:\d+ .* connected /)
      t.equal(stdout.match(/ bus-\d+ +\{"line":"M/g)?.length, 10, 'ten items')
      t.notOk(stdout.includes('\x1b'))
    }
  })

  await t.test('the named feed, with hostile text', async (t) => {
    const { code, stdout } = await endOf(t, ['top', '--once', '--feed', 'positions'], { env: { FRESHET_URL: url + '/' } })
    t.equal(code, 0)
    t.match(stdout, /^positions {2}layout segments .* no age limit/)
    t.match(stdout, /bus-7 +stop 12\n/)
    t.match(stdout, /bus\ufffd-8 +␛\]0;owned␇␛\[2J\ufffd31m\ufffd\n/)
    t.match(stdout, /東京-👨‍👩‍👧 +wide\n/)
    t.equal(actingIn(stdout), '')
  })

  await t.test('in a terminal: keys, resize, quit', SKIP, async (t) => {
    const terminal = inTerminal(t, top(url))
    const first = await terminal.until(/ bus-\d+ +\{"line":"M[\s\S]* q {2}quit .* feed 1 of 2 /)
    t.match(first, /^latest {2}layout ids/)
    t.match(first, /\n.*[▀▄█].*\n.*\n.*\nitems\/s +last \d+ s, up to/)
    await eventually(async () => { if (terminal.screen.join('\n') === first) throw new Error('not updated') })
    terminal.press('\x1b[C')
    t.match(await terminal.until(/^positions [\s\S]*bus-7 +stop 12\n/), /feed 2 of 2/)
    t.equal(actingIn(terminal.output), '', 'hostile text has no effect')
    terminal.press('/bus-77\x7f\r')
    await terminal.until(/\nbus-7 {2}.* old {2}stop 12\n/)
    terminal.press('/none\r')
    await terminal.until(/\nlooking for none: ITEM_UNKNOWN: /)
    terminal.press('/q')
    await terminal.until(/\n id: q {3}Enter/)
    terminal.press('\x1b')
    await terminal.until(/ q {2}quit /)
    terminal.press('p')
    await terminal.until(/^positions .* paused\n[\s\S]* p {2}resume/)
    terminal.press('\t')
    await terminal.until(/^latest .*\d\n[\s\S]* bus-\d+ /)
    await terminal.resize(60, 12)
    await terminal.until(/^latest .*\n[\d.]+ items\/s /)
    t.equal(terminal.screen.length, 12)
    t.ok(terminal.screen.every((line) => line.length <= 60))
    terminal.press('q')
    t.match(await terminal.ended(), { status: 0, isRestored: true, screen: /^\/dev\/\S+\npid \d+\nstatus 0\n/ })
  })

  await t.test('the terminal is restored, however the process ends', LONGER, async (t) => {
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
    t.match(await terminal.ended(), { status: 1, isRestored: true, screen: /Error: unforeseen/ },
      'the error is printed after the screen is left')
    t.ok(terminal.output.includes('shown'))
  })

  await t.test('NO_COLOR turns colors off, a dumb terminal gets plain text', LONGER, async (t) => {
    const colored = /\x1b\[3\dm/ // eslint-disable-line no-control-regex
    for (const [env, isColored] of /** @type {[Record<string, string>, boolean][]} */ ([[{ NO_COLOR: '1' }, false], [{}, true]])) {
      const terminal = inTerminal(t, top(url), { env })
      await terminal.until(/ bus-\d+ /)
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
