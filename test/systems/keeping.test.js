/** What a rule of a user keeps of a key besides its state: members, holds and a waiting room. */
import t from 'tap'
import { admissionKey } from '../../src/admission/index.js'
import { connectFor, engineName, eventually } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { sharedDeployment } from '../shared.js'
import { openSeats, ruleOf } from './seats.js'

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t, { engine })
    const connection = await connectFor(t, redisUrl)
    const options = { redisUrl, keyPrefix, partitions: 1 }

    t.test('what a rule keeps besides its state is read as earlier commands left it, in the same call or before it', async (t) => {
      const lua = ruleOf(`local op, name, n = args[1], args[2], tonumber(args[3])
        if op == 'member' then return op, {}, { members = { [name] = n > 0 and n } } end
        if op == 'hold' then return op, {}, { holds = { [name] = n > 0 and 4e12 + n } } end
        if op == 'wait' then return op, {}, { waiting = { [name] = n > 0 and n } } end
        if op == 'end' then return op, {}, { ends = true } end
        return 'shown', { member = read.member(name) or '', hold = read.holdUntil(name) or '', first = read.firstHold() or '',
          due = table.concat(read.holdsDue(4e12 + 5, 3), ' '), waiting = table.concat(read.waiting(3), ' '),
          count = read.waitingCount(), position = read.position(name) or '' }`)
      const { submit } = await openSeats(t, options, { lua, keeps: ['waiting', 'members', 'holds'] })
      let random = 7
      const pick = (/** @type {number} */ below) => (random = random * 48271 % 2147483647) % below
      const commands = Array.from({ length: 200 }, () =>
        [['member', 'hold', 'wait', 'show', 'show'][pick(5)], ['ann', 'bob', 'cid', 'dan'][pick(4)], String(pick(9))])
      const shown = (/** @type {any[]} */ decisions) => decisions.map(({ code, details }) => ({ code, details }))
      const together = shown(await Promise.all(commands.map((args) => submit('together', ...args))))
      const alone = []
      for (const args of commands) alone.push(await submit('alone', ...args))
      t.same(together, shown(alone))
      const part = admissionKey(keyPrefix, 'seats', 0)
      const task = await connection.send('ZSCORE', part('tasks'), 'seat alone expire')
      const [, first] = await connection.send('ZRANGE', part('holds:alone'), 0, 0, 'WITHSCORES')
      t.equal(String(task), String(first), 'the earliest hold is a task')
      await submit('alone', 'member', 'ann', '1')
      await submit('alone', 'end')
      t.ok(await connection.send('PTTL', part('members:alone')) > 0)
    })

    t.test('a hold that is due is the task `expire`, until none is left', async (t) => {
      const { system, submit } = await openSeats(t, { ...options, keyPrefix: `${keyPrefix}tasks:` }, {
        keeps: ['holds'],
        lua: ruleOf(`if args[1] == 'hold' then return 'held', {}, { holds = { [args[2]] = now + tonumber(args[3]) } } end
          local gone = {}
          for _, name in ipairs(read.holdsDue(now, 1)) do gone[name] = false state[name] = 'gone' end
          return 'expired', {}, { holds = gone }`)
      })
      for (const [name, ms] of [['ann', 1], ['bob', 1], ['cid', 600_000]]) await submit('a', 'hold', String(name), String(ms))
      await system.runTasks()
      await eventually(async () => Object.keys((await system.get('a'))?.state ?? {}).length === 2)
      t.same((await system.get('a'))?.state, { ann: 'gone', bob: 'gone' })
    })
  })
}
