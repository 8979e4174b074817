/** What a person sees: commands in a pseudo terminal, with real servers and with a hostile one. */
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startWriter } from '../flow/writer.js'
import { actingIn, inTerminal, noTerminal } from '../in-terminal.js'
import { startServer } from '../servers.js'
import { nightly, scopedEngines, wholeTest } from '../scope.js'

const FRESHET = fileURLToPath(new URL('../../bin/freshet.js', import.meta.url))
const HOSTILE = '\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\u2066\u200f'
const [engine] = await scopedEngines()
const { url } = await startServer(t, { engine })

// two at a time, each with a key prefix: writers have the same ids
t.jobs = 2

/** @param {import('tap').Test} t @param {string[]} args @param {Parameters<typeof inTerminal>[2]} [options] */
const run = (t, args, options) => inTerminal(t, [FRESHET, ...args], options)

t.test('a writer at a terminal ends with a summary that a person reads', { skip: noTerminal, buffered: true }, async (t) => {
  const writer = ['writer', '--redis-url', url, '--rate', '2000', '--items', '3000']
  const { status, screen } = await run(t, writer).ended()
  t.equal(status, 0, screen)
  t.match(screen, /\nfeed latest, layout ids, (valkey|redis) [\d.]+, 1 writer, \d+\.\d s\n/)
  t.match(screen, /\n {2}kept +3,000 items {3}[\d,]+ items\/s\n {2}values +0\.4 MiB {3}[\d.]+ MiB\/s\n {2}batches +\d+ {3}\d+ items each\n/)
  t.match(screen, /\n +p50 +p95 +p99 +max\n {2}sent late by( +[\d.,]+ ms){4}\n {2}acknowledged in( +[\d.,]+ ms){4}\n/)
  t.match(screen, /\n {2}CPU of writers +[\d.,]+ µs\/item {3}event loop \d+ % busy\n {2}CPU of primary +[\d.,]+ µs\/item\n/)
  t.notMatch(screen, /offered|refused|dropped|failed|retried|\{"event"/)
  t.match(screen, /settings.*"rate":2000/)
  t.notMatch(screen, /settings.*batchMs/, 'settings that were not given are not shown')

  const json = await run(t, [...writer, '--json']).ended()
  const line = json.screen.split('\n').filter((one) => one.startsWith('{'))
  t.equal(line.length, 1)
  t.match(JSON.parse(line[0]), { event: 'summary', items: 3000 })
  t.notMatch(json.screen, /acknowledged in/)
})

wholeTest('items that were not stored stand in the summary, in color', { skip: noTerminal, buffered: true }, async (t) => {
  const flags = ['--items', '3000', '--rate', '0', '--in-flight-bytes', '1024', '--when-full', 'drop']
  const colored = run(t, ['writer', '--redis-url', url, '--key-prefix', 'full:', ...flags])
  await colored.ended()
  t.match(colored.output, /\x1b\[33m {2}dropped +[\d,]+ items {3}at the in-flight limit\x1b\[39m/) // eslint-disable-line no-control-regex
  process.env.NO_COLOR = '1'
  t.teardown(() => { delete process.env.NO_COLOR })
  const { stdout } = await startWriter(t, flags, { redisUrl: url, keyPrefix: 'full:', isTTY: true }).ended()
  t.match(stdout, /\n {2}dropped +[\d,]+ items {3}at the in-flight limit\n/)
})

wholeTest('npm start at a terminal prints the same summary, once', { skip: noTerminal, buffered: true }, async (t) => {
  const all = run(t, ['start', '--redis-url', url, '--key-prefix', 'start:', '--port', '0', '--gateway-port', '0', '--rate', '200'])
  await all.until(/\nwriter +200 items\/s into feed latest/)
  all.kill('SIGINT')
  const { status, screen } = await all.ended()
  t.equal(status, 0, screen)
  t.equal(screen.match(/kept +[\d,]+ items/g)?.length, 1, screen)
})

t.test('feeds are a table, and drop asks for the name', { skip: noTerminal, buffered: true }, async (t) => {
  const feed = (/** @type {string[]} */ ...words) => run(t, ['feed', ...words, '--redis-url', url, '--key-prefix', 'table:'])
  const { screen } = await feed('create', 'rides', '--window-ms', '3600000').ended()
  t.match(screen, /\nfeed +layout +partitions +window ms +max items +late +created\nrides +ids +1 +3,600,000 +1,000,000 +newest +20/)
  for (const [answer, status, said] of /** @type {const} */ ([['ride', 1, /nothing was dropped/], ['rides', 0, /dropped feed rides: 2 keys/]])) {
    const drop = feed('drop', 'rides')
    await drop.until(/deletes feed rides and all its items/)
    drop.press(answer + '\n')
    t.match(await drop.ended(), { status, screen: said })
  }
})

t.test('nothing that a server says acts on the terminal', { skip: noTerminal, buffered: true }, async (t) => {
  const server = createServer((socket) => socket.on('error', () => {}).on('data', (data) => {
    const commands = data.toString('latin1').match(/^\*\d+\r$/gm)?.length ?? 0
    socket.write(`-ERR ${HOSTILE}\r\n`.repeat(commands))
  })).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const at = ['--redis-url', `redis://127.0.0.1:${port}`]
  // a table, an error, and a log
  const some = [['doctor'], ['feed', 'list'], ['reader', '--port', '0']]
  for (const args of nightly([...some, ['writer'], ['gateway', '--port', '0']], some)) {
    const terminal = run(t, [...args, ...at])
    const { status } = await terminal.ended()
    t.not(status, 0, args[0])
    t.match(terminal.output, /␛\]0;owned␇␛\[2J/, `${args[0]} shows the message`)
    t.equal(actingIn(terminal.output), '', args[0])
  }
})
