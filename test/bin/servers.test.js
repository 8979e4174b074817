import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { openReader } from '../../src/index.js'
import { copyCheckout } from '../commands.js'
import { cacheDir, infoOf } from '../embedded/checkout.js'
import { NODE } from '../node.js'
import { silentLog } from '../servers.js'
import { endOfMain } from './in-process.js'

const FRESHET = fileURLToPath(new URL('../../bin/freshet.js', import.meta.url))

/** @param {import('tap').Test} t @param {string[]} words @param {string} [file] */
function run (t, words, file = FRESHET) {
  const [program, ...flags] = NODE
  const child = spawn(program, [...flags, file, ...words],
    { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_OPTIONS: '', FRESHET_CACHE_DIR: cacheDir } })
  t.teardown(() => child.kill('SIGKILL'))
  child.stderr.resume()
  return { child, exited: once(child, 'exit') }
}

t.test('servers prints the primary first, then its replicas, and ends with 0 on SIGTERM', async (t) => {
  const { child, exited } = run(t, ['servers'])
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const [primary, ...replicas] = [await lines.next(), await lines.next(), await lines.next()].map(({ value }) => value.split(' '))
  t.equal(primary[0], 'primary')
  t.match(await infoOf(primary[1]), { role: 'master' })
  for (const [word, url] of replicas) {
    t.equal(word, 'replica')
    t.match(await infoOf(url), { role: 'slave', master_link_status: 'up' })
  }
  child.kill('SIGTERM')
  t.same(await exited, [0, null])
})

t.test('with --sentinel it prints the address of the Sentinels last, which other commands take as it is', async (t) => {
  const { child, exited } = run(t, ['servers', '--sentinel'], join(await copyCheckout(t), 'bin', 'freshet.js'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const printed = [await lines.next(), await lines.next(), await lines.next(), await lines.next()].map(({ value }) => value.split(' '))
  t.same(printed.map(([word]) => word), ['primary', 'replica', 'replica', 'sentinel'])
  t.match(await infoOf(printed[0][1]), { role: 'master' })
  const reader = await openReader({ redisUrl: printed[3][1], log: silentLog })
  t.same(await reader.feeds(), [])
  await reader.close()
  child.kill('SIGTERM')
  t.same(await exited, [0, null])
})

t.test('servers stopped before they are ready end with 0 too', async (t) => {
  const { child, exited } = run(t, ['servers'])
  setTimeout(() => child.kill('SIGINT'), 400)
  const [status, signal] = await exited
  t.ok(status === 0 || signal === 'SIGINT', 'the signal may arrive before there is a listener')
})

t.test('servers fails with a missing server program', async (t) => {
  t.match(await endOfMain(['servers', '--server', 'absent-server']), { code: 1, stderr: /absent-server is not on PATH/ })
})
