/** A source of a user in a fleet: however many processes ask for a key at once, the source is called once for it. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { runConsumers, runGateway } from '../../../test/commands.js'
import { NODE } from '../../../test/node.js'
import { scopedEngines } from '../../../test/scope.js'
import { startServer } from '../../../test/servers.js'

const ASKING = fileURLToPath(new URL('../../../test/systems/prices/asking-process.js', import.meta.url))
const WITHIN_MS = 60_000
const KEYS = Array.from({ length: 25 }, (_, i) => `key-${i}`)
const PROCESSES = 4

/** @param {import('tap').Test} t @param {string} redisUrl */
async function startAsking (t, redisUrl) {
  const child = fork(ASKING, [redisUrl, 'fr:', String(WITHIN_MS)], { execArgv: NODE.slice(1) })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child, 'message')
  return {
    /** @param {string[]} assets @returns {Promise<Record<string, string>>} */
    async ask (assets) {
      child.send(assets)
      return (await once(child, 'message'))[0]
    }
  }
}

t.test('25 keys asked by four processes at once call the source 25 times; a key whose caller is killed, once more', async (t) => {
  const [engine] = await scopedEngines()
  const { url: redisUrl } = await startServer(t, { engine })
  const calls = `${t.testdirName}/calls`
  // the process that makes the first call for it is killed by it
  const folder = t.testdir({
    calls: '',
    'mine.js': `import { appendFileSync, readFileSync } from 'node:fs'
      export const sources = {
        async mine (asset) {
          appendFileSync(${JSON.stringify(calls)}, asset + '\\n')
          const isFirst = readFileSync(${JSON.stringify(calls)}, 'utf8').split('\\n').filter((one) => one === asset).length === 1
          if (asset === 'killed' && isFirst) process.kill(process.pid, 'SIGKILL')
          return { price: '7', ts: Date.now() }
        }
      }`
  })
  const flags = ['--system-partitions', '4', '--deadline-ms', '10000']
  const gateway = await runGateway(t, { redisUrl, flags })
  const create = (/** @type {string} */ asset) => gateway.send('PUT', `/v1/assets/${asset}`,
    JSON.stringify({ tier: 'cold', pinned: true }), { 'content-type': 'application/json' })
  for (const { status } of await Promise.all(KEYS.map(create))) t.equal(status, 201)
  const all = await Promise.all(Array.from({ length: PROCESSES }, () => startAsking(t, redisUrl)))

  // no one answers before consumers run: all four are waiting by then
  const asked = Promise.all(all.map(({ ask }) => ask(KEYS)))
  const ownFlags = ['--systems', 'prices', '--exchanges', `${folder}/mine.js`, ...flags]
  const consumers = await Promise.all([1, 2].map(() => runConsumers(t, { redisUrl, flags: ownFlags })))
  const expected = Object.fromEntries(KEYS.map((key) => [key, '7']))
  t.same(await asked, Array.from({ length: PROCESSES }, () => expected))
  const called = async () => (await readFile(calls, 'utf8')).trim().split('\n').sort()
  t.same(await called(), [...KEYS].sort(), 'each key once')

  await create('killed')
  t.same(await Promise.all(all.map(({ ask }) => ask(['killed']))), Array.from({ length: PROCESSES }, () => ({ killed: '7' })))
  t.same(await called(), [...KEYS, 'killed', 'killed'].sort(), 'the owner that took over called once more, for this key only')
  const ends = await Promise.race(consumers.map(({ command }) => command.ended()))
  t.equal(ends.signal, 'SIGKILL')
})
