/** What a rule keeps of a key besides its state, in its queries. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openSystem } from '../../src/systems/index.js'
import { eventually } from '../servers.js'
import { startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'

const LUA = `return function (state, args, now)
  return 'joined', { left = 3, name = 'a' }, {
    members = { ['user:ann'] = 'vip' }, holds = { ann = now + 60000 }, waiting = { ann = 20, bob = 10, eve = 20 }
  }
end`
const DOOR = `export default {
  name: 'door',
  rules: { door: { lua: ${JSON.stringify(LUA)}, keeps: ['members', 'holds', 'waiting'] } },
  queries: {
    one: {
      path: '/v1/doors/:id',
      summary: 'A door',
      shown: async ({ key }, read) => ({
        key,
        member: await read.member('user:ann'),
        nobody: await read.member('user:bob'),
        until: await read.holdUntil('ann'),
        noHold: await read.holdUntil('bob'),
        positions: await Promise.all(['ann', 'bob', 'eve', 'zoe'].map(read.position)),
        next: await read.waiting(1),
        count: await read.waitingCount()
      })
    }
  }
}`

t.test('queries read members, holds and waiting; numbers of the details stay numbers', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const folder = await mkdtemp(join(tmpdir(), 'freshet-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'door.js')
  await writeFile(path, DOOR)
  const { default: door } = await import(path)
  const system = await openSystem(door, { redisUrl, keyPrefix, partitions: 2, deadlineMs: 10_000 })
  t.teardown(() => system.close())
  const beganMs = Date.now()
  t.strictSame((await system.submit({ rule: 'door', key: 'a', args: [] })).details, { left: 3, name: 'a' })
  const reader = await startReader(t, { redisUrl, keyPrefix, flags: ['--systems', path] })
  const { json } = await eventually(async () => {
    const answer = await reader.ask('/v1/doors/a')
    return answer.status === 200 && answer.json.count === 3 && answer
  })
  const { until, ...rest } = json
  t.same(rest, { key: 'a', member: 'vip', nobody: null, noHold: null, positions: [2, 1, 2, null], next: ['bob'], count: 3 })
  t.ok(until >= beganMs + 50_000 && until < beganMs + 120_000, `the hold ends ${until - beganMs} ms after the beginning`)
})
