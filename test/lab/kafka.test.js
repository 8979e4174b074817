/** The Kafka broker of the lab: when it cannot be started, and that it never outlives its process. */
import t from 'tap'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { findKafka, startBroker } from '../../lab/kafka/broker.js'
import { nightTest } from '../scope.js'
import { eventually } from '../servers.js'

const BROKER = new URL('../../lab/kafka/broker.js', import.meta.url).href
const cacheDir = process.env.FRESHET_CACHE_DIR || fileURLToPath(new URL('../../.freshet', import.meta.url))
const why = await findKafka({ cacheDir })
const ask = `const { findKafka, startBroker } = await import('${BROKER}'); const cacheDir = ${JSON.stringify(cacheDir)};`

t.test('without Java it says so', async (t) => {
  const { PATH } = process.env
  process.env.PATH = '/nowhere'
  t.teardown(() => { process.env.PATH = PATH })
  t.equal(await findKafka({ cacheDir }), 'no Java 17 or later on PATH')
  await t.rejects(startBroker({ cacheDir }), { code: 'BROKER_FAILED' })
})

nightTest('a broker ends when its process is killed', { skip: why === null ? false : `not measured here: ${why}` }, async (t) => {
  const program = `${ask} const broker = await startBroker({ cacheDir }); console.log(broker.pid()); setInterval(() => {}, 1000)`
  // nothing removes the folder of a broker whose process was killed
  const env = { ...process.env, TMPDIR: t.testdir() }
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => { child.kill('SIGKILL') })
  const pid = await new Promise((resolve) => child.stdout.once('data', (chunk) => resolve(Number(chunk))))
  const isRunning = () => {
    try {
      return process.kill(pid, 0)
    } catch {
      return false
    }
  }
  t.ok(isRunning())
  child.kill('SIGKILL')
  await eventually(() => !isRunning())
})
