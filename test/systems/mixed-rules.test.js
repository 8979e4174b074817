/** Rules of Freshet beside rules with Lua in one system, and calls that mix rules. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openSystem, rules } from '../../src/systems/index.js'
import { definitionOf } from '../../src/systems/complete.js'
import { loadSystems } from '../../src/systems/list.js'
import { connectFor, engineName, eventually } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { sharedDeployment } from '../shared.js'
import { ruleOf } from './seats.js'

const DAY_MS = 86_400_000
const LUA = ruleOf(`state.n = (tonumber(state.n or '0')) + 1
  if args[1] == 'fail' then error('on purpose') end
  return 'counted', { n = state.n }, { events = { { type = 'counted', n = state.n } } }`)
const OWN = { count: { lua: LUA } }
const TERMS = ['100', '10', '0', String(Date.now() + DAY_MS), '0', '0', '', '', 'EUR']

/** @param {number} seed @returns {() => number} 0 to 1 */
const randomOf = (seed) => () => {
  seed = (seed * 1103515245 + 12345) % 2 ** 31
  return seed / 2 ** 31
}

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t, { engine })
    /** @param {string} name @param {Record<string, any>} ofSystem */
    const open = async (name, ofSystem) => {
      const system = await openSystem({ name, rules: ofSystem }, { redisUrl, keyPrefix, partitions: 1, deadlineMs: 10_000 })
      t.teardown(() => system.close())
      return system
    }

    await t.test('a rule of Freshet decides the same beside one with Lua, in calls that mix them', async (t) => {
      const [mixed, alone] = [await open('both', { ...OWN, ...rules }), await open('plain', { ...rules })]
      const random = randomOf(7)
      const pick = (/** @type {any[]} */ ...all) => all[Math.floor(all.length * random())]
      const commands = Array.from({ length: 400 }, (_, i) => pick(
        ['max', `m${i % 3}`, i < 40 ? ['create', ...TERMS] : ['bid', pick('ann', 'bob'), String(100 + Math.floor(i * random())), '']],
        ['max', `m${i % 3}`, ['bid', pick('ann', 'bob'), String(200 + i), String(300 + i)]],
        ['once', `o${i % 5}`, ['create', `someone-${i % 2}`]],
        ['step', `s${i % 4}`, pick(['place', 'ann', '1250', '[]', 'Here 1', '60000', 'c'], ['held'], ['cancel'], ['check'])],
        ['bounded', `b${i % 2}`, pick(['create', '20', '2', '0', TERMS[3], '60000', 'direct', '0', '0', 'x'], ['close'], ['pause'])]
      ))
      /** @param {import('../../src/systems/index.js').OpenedSystem} system */
      const all = (system) => Promise.all(commands.map(([rule, key, args], i) =>
        system.submit({ rule, key, args, requestId: i % 7 === 0 ? `r-${i % 21}` : '' }).catch(({ code }) => ({ error: code }))))
      const counting = Array.from({ length: 50 }, () => mixed.submit({ rule: 'count', key: 'c', args: [] }))
      const [ofMixed, ofAlone] = await Promise.all([all(mixed), all(alone)])
      const withoutTimes = (/** @type {any} */ one) => ({ ...one, details: { ...one.details, deadline: undefined, openAt: undefined } })
      t.same(ofMixed.map(withoutTimes), ofAlone.map(withoutTimes))
      t.ok(ofMixed.filter((one) => 'accepted' in one && one.accepted).length > 100, 'many are accepted')
      t.same((await Promise.all(counting)).map(({ details }) => details.n), Array.from({ length: 50 }, (_, i) => i + 1))
      for (const key of ['m0', 'm1', 'm2', 'o0', 's0', 'b0']) {
        const [one, other] = await Promise.all([mixed, alone].map((system) => system.get(key)))
        t.same([one?.seq, one?.version], [other?.seq, other?.version], key)
        const { seq, ...state } = /** @type {any} */ (one?.state)
        t.equal(seq, String(one?.seq), 'it counts its events by itself')
        t.same({ ...state, placedAt: 0, deadline: 0, lineage: 0 }, { ...other?.state, placedAt: 0, deadline: 0, lineage: 0 }, key)
      }
    })

    await t.test('a rule that fails fails its own command; others of its call, of any rule, are stored', async (t) => {
      const system = await open('fails', { ...OWN, max: rules.max })
      await system.submit({ rule: 'count', key: 'c', args: [] })
      const [a, b, c] = await Promise.allSettled([
        system.submit({ rule: 'max', key: 'lamp', args: ['create', ...TERMS] }),
        system.submit({ rule: 'count', key: 'c', args: ['fail'] }),
        system.submit({ rule: 'max', key: 'lamp', args: ['bid', 'ann', '100', ''] })
      ])
      const reason = { code: 'RULE_FAILED', rule: 'count', line: 3 }
      t.match([a, b, c], [{ value: { code: 'created' } }, { reason }, { value: { code: 'accepted' } }])
      await t.rejects(system.submit({ rule: 'max', key: 'lamp', args: ['none'] }), { code: 'RULE_FAILED', rule: 'max' })
      const { value } = await system.follow('lamp')[Symbol.asyncIterator]().next()
      t.match(value, { type: 'bid', seq: 1, user: 'ann' })
    })

    await t.test('its tasks run, its certain rejections and folds work, and its library has the rules of both', async (t) => {
      const system = await open('tasks', { ...OWN, max: rules.max })
      const closeAt = Date.now() + 1500
      await system.submit({ rule: 'max', key: 'lamp', args: ['create', '100', '10', '0', String(closeAt), '0', '0', '', '', 'EUR'] })
      await system.submit({ rule: 'max', key: 'lamp', args: ['bid', 'ann', '100', ''] }).catch(() => {})
      await system.submit({ rule: 'max', key: 'lamp', args: ['bid', 'ann', '100', ''] }).catch(() => {})
      await system.runTasks()
      await eventually(async () => (await system.get('lamp'))?.state.status === 'closed')
      for (let i = 0; system.account.cached === 0 && i < 500; i++) {
        await system.submit({ rule: 'max', key: 'lamp', args: ['bid', 'bob', '150', ''] })
        await sleep(10)
      }
      t.ok(system.account.cached > 0, 'a bid after the end is answered from memory')
      const admin = await connectFor(t, redisUrl)
      const libraries = (await admin.send('FUNCTION', 'LIST', 'LIBRARYNAME', 'freshet_tasks_*', 'WITHCODE')).map(String)
      t.match(libraries.join(), /lastCloseAt/)
    })
  })
}

t.test('in the processes it is a system with Lua', async (t) => {
  const definition = await definitionOf({ name: 'mixed', rules: { ...OWN, max: rules.max } })
  t.equal(definition.hasLua, true)
  t.same(Object.keys(definition.memory.rules.folds), ['max'])
  t.same((await loadSystems()).filter(({ hasLua }) => hasLua), [], 'ours have none')
})
