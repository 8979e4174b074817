/** A rule that never ends, on a server of its own: it stands still until its busy threshold. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { connectFor, engineName, eventually, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { createServices } from '../../src/embedded/index.js'
import { createServers } from '../../src/store/index.js'
import { checkedDefinition } from '../../src/systems/checked-definition.js'
import { connect } from '../../src/systems/opening.js'
import { loggerOf } from '../../src/systems/options.js'
import { definitionOf } from '../../src/systems/complete.js'
import { openSeats, ruleOf } from './seats.js'

const LUA = ruleOf(`if args[1] == 'ever' then while true do pcall(function () while true do end end) end end
  state.n = (state.n or 0) + 1
  return 'counted', {}, { events = { { type = 'counted' } } }`)

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine, args: ['--busy-reply-threshold', '200'] })
    const { url: redisUrl } = server
    const { system, submit, code } = await openSeats(t, { redisUrl, keyPrefix: 'fr:', partitions: 1 }, { lua: LUA })
    await submit('a', 'count')

    await t.test('it is stopped, its call stores nothing, and later commands are decided', async (t) => {
      // the first is sent alone, so the others are one call
      const calls = [submit('a', 'count'), ...['count', 'ever', 'count'].map((op) => submit('b', op).catch((error) => error))]
      const [first, ...others] = await Promise.all(calls)
      t.match(first, { code: 'counted', seq: 2 })
      for (const error of others) t.match(error, { code: 'RULE_FAILED', isStopped: true, message: /busy-reply-threshold.*nothing of its call was stored/ })
      t.equal(system.account.stopped, 3)
      t.match(await eventually(() => submit('b', 'count')), { seq: 1, version: 1 })
    })

    await t.test('a scheduled task that never ends does not keep those that are due with it, and waits', async (t) => {
      const lua = ruleOf(`if args[1] == 'plan' then return 'planned', {}, { tasks = { [args[2]] = now } } end
        if args[1] == 'ever' then while true do end end
        return 'rung', {}, { events = { { type = 'rung' } } }`)
      const failed = /** @type {string[]} */ ([])
      const log = { info () {}, error () {}, warn: (/** @type {any} */ { key }) => { if (key) failed.push(key) } }
      const { system, submit } = await openSeats(t, { redisUrl, keyPrefix: 'tasks:', partitions: 1, log }, { lua })
      const keys = Array.from({ length: 20 }, (_, i) => `key-${i}`)
      await Promise.all([...keys.map((key) => submit(key, 'plan', 'ring')), submit('one-that-does-not-end', 'plan', 'ever')])
      await system.runTasks()
      for (const key of keys) await eventually(async () => (await system.get(key))?.seq === 1)
      await eventually(() => failed.length > 0)
      const { stopped } = system.account
      await sleep(1000)
      t.same(failed, ['one-that-does-not-end'])
      t.equal(system.account.stopped, stopped)
    })

    await t.test('commands that could not be sent within deadlineMs are late, and were not decided', async (t) => {
      const { system, code } = await openSeats(t, { redisUrl, keyPrefix: 'late:', partitions: 1, deadlineMs: 2000 }, { lua: LUA })
      await code('a', 'count')
      server.freeze()
      const sent = Array.from({ length: 1000 }, () => code('a', 'count'))
      await eventually(() => system.account.late > 0)
      server.thaw()
      const codes = await Promise.all(sent)
      t.equal(system.account.late, codes.filter((one) => one === 'ADMISSION_LATE').length)
    })

    await t.test('scripts of other programs are not stopped', async (t) => {
      const other = await connectFor(t, redisUrl)
      const loop = other.send('EVAL', "local t = redis.call('TIME') local until_ = t[1] * 1000 + t[2] / 1000 + 800 " +
        "repeat t = redis.call('TIME') until t[1] * 1000 + t[2] / 1000 > until_ return 'done'", 0)
      const codes = await Promise.all([1, 2, 3].map(() => code('a', 'count')))
      t.equal(String(await loop), 'done')
      for (const one of codes) t.ok(['counted', 'SERVER_LOST', 'SERVER_UNREACHABLE'].includes(one), one)
      await eventually(() => submit('a', 'count'))
    })
  })
}

t.test('a chunk that never ends is stopped when the system is opened, or looked at by doctor, and is not tried again', async (t) => {
  const [engine] = await scopedEngines()
  const { url: redisUrl } = await startServer(t, { engine, args: ['--busy-reply-threshold', '200'] })
  const lua = 'while true do end'
  const stopped = { code: 'RULE_FAILED', isStopped: true }
  await t.rejects(openSeats(t, { redisUrl, keyPrefix: 'fr:' }, { lua }), stopped)

  const definition = { name: 'seats', rules: { seat: { lua } } }
  const { findings } = await definitionOf(definition)
  const { problems } = /** @type {any} */ (await findings?.({ redisUrl, keyPrefix: 'fr:' }, 1000, createServices({ cacheDir: null })))
  t.match(problems, [/stopped/])

  const { rules } = await checkedDefinition(definition)
  const parts = { name: 'test', deadlineMs: 1000, log: loggerOf(null) }
  const servers = createServers({ redisUrl, isReading: false, isAsked: false, ...parts })
  const { prepare, close } = connect(rules, { ...parts, servers, system: 'seats', keyPrefix: 'fr:', durability: 'memory' })
  t.teardown(() => close().finally(servers.close))
  await t.rejects(prepare(), stopped)
  const admin = await connectFor(t, redisUrl)
  await admin.send('CONFIG', 'RESETSTAT')
  await t.rejects(prepare(), stopped)
  t.notMatch(String(await admin.send('INFO', 'commandstats')), /cmdstat_eval/)
})
