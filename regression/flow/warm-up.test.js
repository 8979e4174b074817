import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { childrenOf, logOf, runCommand } from '../../test/commands.js'
import { startWriter } from '../../test/flow/writer.js'
import { NODE } from '../../test/node.js'
import { connectFor, startServer } from '../../test/servers.js'
import { scopedEngines } from '../../test/scope.js'

const FRESHET = fileURLToPath(new URL('../../bin/freshet.js', import.meta.url))
const [engine] = await scopedEngines()
const { url } = await startServer(t, { engine })

/**
 * A writer whose parent listens, as the lab does.
 * @param {import('tap').Test} t @param {string[]} flags
 * @returns {Promise<{ messages: any[], summary: any, seconds: number }>} `seconds`: of the whole process
 */
async function writeUnderParent (t, flags) {
  const startedAt = performance.now()
  const [program, ...words] = NODE
  const child = spawn(program, [...words, FRESHET, 'writer', '--redis-url', url, '--window-ms', '0', '--log-level', 'silent', ...flags],
    { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] })
  t.teardown(() => child.kill('SIGKILL'))
  /** @type {any[]} */
  const messages = []
  let stdout = ''
  child.on('message', (message) => messages.push(message))
  child.stdout?.on('data', (bytes) => { stdout += bytes })
  const [code] = await once(child, 'close')
  t.equal(code, 0)
  return { messages, summary: JSON.parse(stdout), seconds: (performance.now() - startedAt) / 1000 }
}

/**
 * Messages that a writer in this process sends to its parent.
 * @template T @param {() => Promise<T>} run @returns {Promise<T & { messages: any[] }>}
 */
async function listening (run) {
  /** @type {any[]} */
  const messages = []
  const { connected, send } = process
  const hear = (/** @type {any} */ message, /** @type {() => void} */ done) => {
    messages.push(message)
    done()
  }
  Object.assign(process, { connected: true, send: hear })
  try {
    return { ...await run(), messages }
  } finally {
    Object.assign(process, { connected, send })
  }
}

/** In this process, to its end. @param {import('tap').Test} t @param {string[]} flags @param {string} [input] */
const write = (t, flags, input) => startWriter(t, flags, { redisUrl: url, input }).ended()

/** @param {any} summary */
const isSummedUp = ({ offered, items, refused, dropped, failed }) => offered === items + refused + dropped + failed

t.test('the summary is about the time after the warm-up, and --duration counts from there', async (t) => {
  // both parts take long, so that a process that stands still for a second has items in each
  const { messages, summary, seconds } = await writeUnderParent(t,
    ['--feed', 'warmed', '--warm-up', '2', '--duration', '2', '--rate', '500'])
  t.same(messages.map(({ event }) => event), ['up', 'measuring', 'ended'])
  t.same(messages[2].acknowledged, [2000], 'the parent hears of all of them')
  t.ok(summary.items > 0 && summary.items < 2000)
  t.equal(summary.offered, summary.items)
  t.equal(summary.bytes, summary.items * 128)
  t.ok(summary.seconds < seconds - 1, 'without the warm-up')
  t.ok(summary.loopUse > 0 && summary.loopUse <= 1)
  t.match(summary.nodes, [{ role: 'primary', cpuMicrosPerItem: Number }])
})

t.test('several writers begin together, and are measured when the warm-up of all is over', async (t) => {
  const flags = ['--writers', '2', '--warm-up', '0.5', '--duration', '0.5', '--rate', '1000', '--log-level', 'silent']
  const { code, messages, summary } = await listening(() => write(t, ['--feed', 'crew', ...flags]))
  t.equal(code, 0)
  t.same(messages.map(({ event }) => event), ['up', 'measuring', 'ended'])
  t.same(messages[2].acknowledged, [1000, 1000])
  t.ok(isSummedUp(summary) && summary.items > 0 && summary.items <= 2000)
})

t.test('without a warm-up everything is measured, and the parent hears so as well', async (t) => {
  const { code, messages, summary } = await listening(() => write(t, ['--feed', 'cold', '--items', '700', '--rate', '0']))
  t.equal(code, 0)
  t.same(messages.map(({ event }) => event), ['up', 'measuring', 'ended'])
  t.same(messages[2].acknowledged, [700])
  t.match(summary, { offered: 700, items: 700 })
})

t.test('a run that ends during its warm-up logs that nothing was measured', async (t) => {
  const { code, summary, stderr, messages } = await listening(() => write(t, ['--feed', 'short', '--items', '100', '--warm-up', '3600']))
  t.equal(code, 0)
  t.match(summary, { offered: 0, items: 0, failed: 0, seconds: 0, itemsPerSecond: 0, loopUse: 0, writerCpuMicrosPerItem: null })
  t.match(stderr, /ended during its warm-up; nothing was measured/)
  t.same(messages.map(({ event }) => event), ['up', 'ended'])
  t.same(messages[1].acknowledged, [100])
})

t.test('failed items are reported, whenever they were offered', async (t) => {
  const admin = await connectFor(t, url)
  await admin.send('SET', 'fr:{taken:0}:ids', 'mine')
  const { code, summary } = await write(t, ['--feed', 'taken', '--items', '10', '--warm-up', '3600'])
  t.equal(code, 1)
  // it goes on until the first refusal comes back
  t.ok(summary.failed > 0 && summary.failed <= 10)
  t.match(summary, { offered: summary.failed, items: 0 })
})

t.test('lines that were refused during the warm-up are left out of the summary, not of the exit status', async (t) => {
  const { code, summary, stderr } = await write(t, ['--feed', 'lines', '--source', 'stdin', '--warm-up', '3600'],
    `{"id":"a","ts":${Date.now()}}\nnot json\n`)
  t.equal(code, 3)
  t.match(summary, { offered: 0, items: 0, refused: 0 })
  t.match(stderr, /line 2/)
})

t.test('a writer that dies during the warm-up keeps no other from being measured, and costs what was under way', async (t) => {
  const writer = runCommand(t,
    ['writer', '--redis-url', url, '--feed', 'killed', '--writers', '2', '--warm-up', '4', '--duration', '1', '--rate', '2000'])
  await writer.until(/"msg":"writing"/)
  const [one] = await childrenOf(writer.pid)
  process.kill(one, 'SIGKILL')
  const ended = await writer.ended()
  t.equal(ended.code, 1)
  t.ok(logOf(ended).some(({ msg }) => msg === 'a writer died'))
  t.ok(isSummedUp(ended.summary))
  t.ok(ended.summary.items > 0 && ended.summary.items < 10_000, 'of the other one, after the warm-up')
})
