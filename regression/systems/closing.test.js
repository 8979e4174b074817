/** A system closes within 10 s, whatever its handlers and servers do. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openSystem } from '../../src/systems/index.js'
import { runConsumers } from '../../test/commands.js'
import { scopedEngines } from '../../test/scope.js'
import { connectFor, engineName, eventually, startServer } from '../../test/servers.js'
import { openSeats, ruleOf } from '../../test/systems/seats.js'

const LOG = ruleOf("return 'logged', {}, { events = { { type = 'logged', text = args[1] } } }")
const never = () => new Promise(() => {})
const late = { code: 'DEADLINE_PASSED', retryable: false, message: /receipts of seats did not end within 10 s/ }
/** ten times the deadline: a busy machine is slow */
const WITHIN_MS = 100_000

t.setTimeout(600_000)

/** @param {import('tap').Test} t @param {Promise<unknown>} closing */
async function inTime (t, closing) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  const result = await Promise.race([
    closing.then(() => 'closed', (error) => error),
    new Promise((resolve) => { timer = setTimeout(resolve, WITHIN_MS, 'not closed in time') })
  ])
  clearTimeout(timer)
  t.not(result, 'not closed in time')
  return result
}

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })
    const admin = await connectFor(t, server.url)
    const others = async () => String(await admin.send('CLIENT', 'LIST')).split('\n').filter((line) => line.includes('freshet-')).length
    const options = { redisUrl: server.url, keyPrefix: `${engine.name}:`, partitions: 2 }

    await t.test('with a handler that never ends, a worker and its system close', async (t) => {
      const system = await openSystem({ name: 'seats', rules: { seat: { lua: LOG } } }, { ...options, deadlineMs: 10_000 })
      /** @type {AbortSignal | null} */
      let given = null
      const worker = await system.consume('receipts', (entries, { signal }) => {
        given = signal
        return never()
      })
      await system.submit({ rule: 'seat', key: 'a', args: ['one'] })
      await eventually(() => given !== null)
      t.match(await inTime(t, worker.close()), late)
      t.equal(/** @type {any} */ (given)?.aborted, true)
      t.match(await inTime(t, worker.close()), late, 'the same, called again')
      t.equal(await inTime(t, system.close()), 'closed')
      await eventually(async () => await others() === 0)
    })

    await t.test('so does a system whose worker was not closed before, and it closes its connections', async (t) => {
      const system = await openSystem({ name: 'seats', rules: { seat: { lua: LOG } } }, { ...options, keyPrefix: `again-${engine.name}:` })
      let isCalled = false
      await system.consume('receipts', () => {
        isCalled = true
        return never()
      })
      await system.submit({ rule: 'seat', key: 'a', args: ['one'] })
      await eventually(() => isCalled)
      const closings = [system.close(), system.close()]
      for (const closing of closings) t.match(await inTime(t, closing), late)
      await t.rejects(system.submit({ rule: 'seat', key: 'a', args: ['one'] }), { code: 'PIPELINE_CLOSED' })
      await eventually(async () => await others() === 0)
    })

    await t.test('a process of consumers ends, with its partitions given back and exit status 1', async (t) => {
      const folder = await mkdtemp(join(tmpdir(), 'freshet-closing-'))
      t.teardown(() => rm(folder, { recursive: true, force: true }))
      const path = join(folder, 'slow.js')
      await writeFile(path, `export default { name: 'slow', rules: { seat: { lua: ${JSON.stringify(LOG)} } }, consumers: {
        receipts () { setInterval(() => {}, 1000); process.stderr.write('HANDLING\\n'); return new Promise(() => {}) } } }`)
      const { command } = await runConsumers(t, {
        redisUrl: server.url, flags: ['--systems', path, '--system-partitions', '2', '--deadline-ms', '10000']
      })
      const { system } = await openSeats(t, { ...options, keyPrefix: 'fr:' }, { lua: LOG, name: 'slow' })
      await system.submit({ rule: 'seat', key: 'a', args: ['one'] })
      await command.until(/HANDLING/)
      const { code, stderr } = await command.kill('SIGTERM')
      t.equal(code, 1)
      t.match(stderr, /receipts of slow did not end within 10 s/)
    })

    await t.test('with a server that no longer answers, a system with commands on their way closes', async (t) => {
      const system = await openSystem({ name: 'gone', rules: { seat: { lua: LOG } } }, options)
      const code = (/** @type {string} */ key) =>
        system.submit({ rule: 'seat', key, args: ['one'] }).then(({ code }) => code, (error) => error.code)
      await code('a')
      await system.consume('receipts', () => {})
      const following = system.follow('a', { after: 1 }).next()
      server.freeze()
      const sent = [code('a'), code('b')]
      await inTime(t, system.close())
      server.thaw()
      t.equal((await following).done, true)
      for (const one of await Promise.all(sent)) t.match(one, /^(SERVER_|ADMISSION_|PIPELINE_|logged)/)
    })
  })
}
