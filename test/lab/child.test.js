/** What the lab makes of the process of a load: one that does its work, and every way in which one may not. */
import t from 'tap'
import { join } from 'node:path'
import { startLoad } from '../../lab/run/child.js'
import { isRunning, until } from '../embedded/checkout.js'

const SUMMARY = { event: 'summary', items: 90, offered: 90, failed: 0, seconds: 2 }
const DEADLINE_MS = 60_000
/** A load that does all it should, before it ends in its own way. */
const dutiful = (/** @type {string} */ end, /** @type {object} */ summary = SUMMARY) => `
process.send({ event: 'measuring' })
process.send({ event: 'ended', acknowledged: [60, 40] }, () => {
  process.stdout.write('words of others\\n${JSON.stringify(summary)}\\n', () => { ${end} })
})`

/**
 * @param {import('tap').Test} t
 * @param {string} text of the program, which stands in for `npm start writer`
 * @param {{ deadlineMs?: number, env?: Record<string, string>, redisUrl?: string, settings?: object }} [options]
 */
function load (t, text, { deadlineMs = DEADLINE_MS, env = {}, redisUrl = 'redis://127.0.0.1:1', settings = {} } = {}) {
  const file = join(t.testdir({ 'load.mjs': text }), 'load.mjs')
  const child = startLoad({
    load: 'writer',
    settings: { duration: 2, ...settings },
    redisUrl,
    replicaUrls: ['redis://127.0.0.1:2', 'redis://127.0.0.1:3'],
    keyPrefix: 'lab-12345678:'
  },
  {
    writerCommand: (of) => [file, JSON.stringify(of)],
    gatewayCommand: () => [],
    env: { ...process.env, NODE_OPTIONS: '', ...env },
    deadlineMs
  })
  t.teardown(() => child.stop())
  return child
}

t.test('a load reports when it measures, and what was acknowledged, and its summary is the last line', async (t) => {
  const child = load(t, dutiful('process.exit(0)'))
  await child.measuring
  t.same(await child.ended, { acknowledged: [60, 40], summary: SUMMARY })
  await child.stop()
  t.notOk(await isRunning(/** @type {number} */ (child.pid)))
})

t.test('what did not go as it should is reported with the last words of the load', async (t) => {
  const cases = /** @type {[string, string, object][]} */ ([
    ['it ends without a word', 'process.exit(0)', { message: 'the load writer ended with status 0: no output' }],
    ['it throws', 'throw new Error("no such thing")', { message: /^the load writer ended with status 1: .*Error: no such thing/s }],
    ['it is killed', 'process.kill(process.pid, "SIGKILL")', { message: 'the load writer was ended by SIGKILL: no output' }],
    ['it never measured', dutiful('process.exit(0)').replace(/.*measuring.*/, ''),
      { message: 'the load writer ended with status 0: no output' }],
    ['its summary is cut off', dutiful('process.exit(0)').replace('}\\n', ''),
      { message: 'the load writer ended with status 0: no output' }],
    ['it says what it failed of',
      'process.send({ event: "failed", code: "SERVER_FULL", message: "the server is full" }, () => process.exit(1))',
      { message: 'the load writer the server is full', reason: 'SERVER_FULL' }]
  ])
  for (const [title, text, error] of cases) {
    await t.test(title, async (t) => t.rejects(load(t, text).ended, { code: 'LOAD_FAILED', ...error }))
  }
})

t.test('a summary of a load that failed, or was stopped, is no figure', async (t) => {
  await t.rejects(load(t, dutiful('process.stderr.write(\'{"level":40,"msg":"the server takes no writes now"}\\n\'); process.exitCode = ' +
    '1; process.disconnect()', { ...SUMMARY, offered: 90, failed: 7 })).ended,
  {
    code: 'LOAD_FAILED',
    message: 'the load writer ended with status 1, 7 of 90 items were not acknowledged: the server takes no writes now'
  })
  await t.rejects(load(t, dutiful('process.exit(0)', { ...SUMMARY, seconds: 0.4 })).ended,
    { code: 'LOAD_FAILED', message: 'the load writer ended early, after 0.4 s of 2 s' })
})

t.test('a load that hangs is ended, and waiting for its window fails with the same error', async (t) => {
  const child = load(t, 'setInterval(() => {}, 1e6)', { deadlineMs: 500 })
  const error = { code: 'LOAD_FAILED', message: 'the load writer took longer than 0.5 s and was killed' }
  await t.rejects(child.measuring, error)
  await t.rejects(child.ended, error)
  t.notOk(await isRunning(/** @type {number} */ (child.pid)))
})

t.test('a load that ignores the stop signal is killed, with the writers it started', async (t) => {
  const child = load(t, `
import { spawn } from 'node:child_process'
process.on('SIGTERM', () => {})
const writer = spawn(process.execPath, ['-e', 'process.send ? 0 : setInterval(() => {}, 1e6)'],
  { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
process.send({ event: 'measuring' })
process.on('message', ({ event }) => process.stderr.write(event + ' ' + writer.pid + '\\n'))
process.send({ event: 'failed', code: 'SERVER_FULL', message: String(writer.pid) })`)
  await child.measuring
  await child.stop()
  await child.stop()
  const { message } = await child.ended.then(() => t.fail(), (error) => error)
  const writer = Number(/the load writer (\d+)$/.exec(message)?.[1])
  t.ok(writer > 0)
  await until(async () => !await isRunning(writer))
  t.notOk(await isRunning(/** @type {number} */ (child.pid)))
})

t.test('arguments show no password, and settings are not those of the environment', async (t) => {
  const child = load(t, `
const { argv, env } = process
const others = Object.keys(env).filter((name) => /^(FRESHET_RATE|npm_config_|SORTED_SET)/.test(name))
process.stderr.write(JSON.stringify({ argv: argv.slice(2), url: env.FRESHET_REDIS_URL, replicas: env.FRESHET_REPLICA_URL, others }) + '\\n')
process.exit(1)`, {
    redisUrl: 'redis://:secret@127.0.0.1:1',
    env: { FRESHET_RATE: '5', npm_config_rate: '5', SORTED_SET_CONTAINS_ACTUAL_VALUE: 'true' },
    settings: { rate: 10 }
  })
  const { message } = await child.ended.then(() => t.fail(), (error) => error)
  t.same(JSON.parse(message.slice(message.indexOf('{'))), {
    argv: [JSON.stringify({ duration: 2, rate: 10, source: 'synthetic', keyPrefix: 'lab-12345678:' })],
    url: 'redis://:secret@127.0.0.1:1',
    replicas: 'redis://127.0.0.1:2,redis://127.0.0.1:3',
    others: []
  })
})
