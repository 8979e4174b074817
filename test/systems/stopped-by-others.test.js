/** A rule that never ends is stopped by each process of its system, also when its caller has ended; nothing else is stopped. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { openSystem } from '../../src/systems/index.js'
import { openConnection } from '../../src/store/index.js'
import { engineName, eventually, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { callAndEnd, CALLER, NEVER } from './never.js'

const THRESHOLD_MS = 1000
/** Several rounds of questions. */
const ROUNDS_MS = 4000

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { url: redisUrl } = await startServer(t, { engine, args: ['--busy-reply-threshold', String(THRESHOLD_MS)] })
    const options = { redisUrl, keyPrefix: 'fr:', partitions: 1, deadlineMs: 20_000 }
    const admin = await openConnection(redisUrl, { name: 'test', deadlineMs: 60_000 })
    t.teardown(() => admin.close())
    await admin.send('ACL', 'SETUSER', ...CALLER)
    /** What the server runs, by its name; `busy` of a script that it does not name. */
    const running = () => admin.send('FUNCTION', 'STATS').then(([, found]) => found && String(found[1]), ({ reply }) => reply)

    await t.test('by another process, while its caller is gone', async (t) => {
      const system = await openSystem(NEVER, options)
      t.teardown(() => system.close())
      await callAndEnd(t, { redisUrl, keyPrefix: 'fr:', runs: async () => /^freshet_never_/.test(await running()) })
      await eventually(async () => (await running()) === null)
      t.match(await eventually(() => system.submit({ rule: 'seat', key: 'a', args: ['count'] })), { code: 'counted', seq: 1 })
      t.equal(system.account.stopped, 0)
    })

    await t.test('by a process that starts later', async (t) => {
      await callAndEnd(t, { redisUrl, keyPrefix: 'fr:', runs: async () => /^freshet_never_/.test(await running()) })
      const system = await eventually(() => openSystem(NEVER, options))
      t.teardown(() => system.close())
      t.equal(await running(), null)
    })

    await t.test('not by one of another system, or of another key prefix', async (t) => {
      const others = await Promise.all([
        openSystem({ ...NEVER, name: 'other' }, options), openSystem(NEVER, { ...options, keyPrefix: 'more:' })
      ])
      t.teardown(() => Promise.all(others.map((system) => system.close())))
      await callAndEnd(t, { redisUrl, keyPrefix: 'fr:', runs: async () => /^freshet_never_/.test(await running()) })
      await pause(ROUNDS_MS)
      t.match(await running(), /^freshet_never_/)
      await admin.send('FUNCTION', 'KILL')
      await eventually(async () => (await running()) === null)
    })

    await t.test("another program's script or function is not stopped", async (t) => {
      const system = await openSystem(NEVER, options)
      t.teardown(() => system.close())
      const other = await openConnection(redisUrl, { name: 'other', deadlineMs: 60_000 })
      t.teardown(() => other.close())
      await other.send('FUNCTION', 'LOAD', "#!lua name=theirs\nredis.register_function('theirs', function () while true do end end)")
      for (const [calling, kill] of [[['EVAL', 'while true do end', 0], 'SCRIPT'], [['FCALL', 'theirs', 0], 'FUNCTION']]) {
        const [command, ...args] = /** @type {[string, ...any[]]} */ (calling)
        const ended = t.rejects(other.send(command, ...args), /killed by user/i)
        const submitted = system.submit({ rule: 'seat', key: 'b', args: ['count'] }).catch(({ code }) => code)
        await pause(ROUNDS_MS)
        t.match(await running(), kill === 'SCRIPT' ? 'BUSY' : 'theirs')
        await admin.send(String(kill), 'KILL')
        await ended
        const decided = await submitted
        t.ok(decided.code === 'counted' || decided === 'SERVER_LOST' || decided === 'SERVER_UNREACHABLE', String(decided))
        await eventually(() => system.submit({ rule: 'seat', key: 'b', args: ['count'] }))
      }
    })

    await t.test('a process without the permission goes on, and says so once', async (t) => {
      const errors = /** @type {string[]} */ ([])
      const log = { info () {}, warn () {}, error: (/** @type {any} */ _, /** @type {string} */ text) => { errors.push(text) } }
      const system = await openSystem(NEVER, { ...options, redisUrl: redisUrl.replace('//', '//caller:word@'), log })
      t.teardown(() => system.close())
      await eventually(() => errors.length > 0)
      t.match(await system.submit({ rule: 'seat', key: 'c', args: ['count'] }), { code: 'counted' })
      await pause(ROUNDS_MS / 2)
      t.same(errors, ['this process cannot stop a rule that never ends'])
    })
  })
}
