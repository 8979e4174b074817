/** A rule is upgraded while processes of both versions run: gateways, readers, consumers and programs. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { openQueries, openSystem } from '../../src/systems/index.js'
import { connectFor, eventually } from '../servers.js'
import { startConsumers, startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'

const seen = /** @type {any} */ (globalThis).freshetUpgraded = /** @type {string[]} */ ([])
/** @param {number} version the second one reads states of the first */
const luaOf = (version) => `return function (state, args, now)
  if args[1] == 'later' then return 'later', {}, { events = { { type = 'later', by = ${version} } } } end
  state.${version === 1 ? 'n' : 'count'} = (tonumber(state.count or state.n or '0')) + 1
  ${version === 1 ? '' : 'state.n = nil'}
  return 'added', { n = state.${version === 1 ? 'n' : 'count'} },
    { events = { { type = 'added', by = ${version} } }, tasks = { later = now + 1000 } }
end`

t.test('commands are decided by one version at a time; none is lost or decided twice; reads go on', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const folder = await mkdtemp(join(tmpdir(), 'freshet-upgrade-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const [older, newer] = await Promise.all([1, 2].map(async (version) => {
    const path = join(folder, `v${version}.js`)
    const rule = `{ lua: ${JSON.stringify(luaOf(version))}, version: ${version} }`
    await writeFile(path, `export default { name: 'counts', rules: { count: ${rule} },
      commands: { add: {
        path: '/v1/counts/:id', summary: 'Add', replies: { added: 201 },
        command: ({ params }) => ({ rule: 'count', key: params.id, args: ['add'] })
      } },
      queries: { one: { path: '/v1/counts/:id', summary: 'One', shown: ({ state, seq }) => ({ n: Number(state.count ?? state.n), seq }) } },
      consumers: { note (entries) {
        for (const { type, by } of entries) globalThis.freshetUpgraded.push('${version} ' + type + ' ' + by)
      } } }`)
    return path
  }))
  const at = (/** @type {string} */ path) => ({ redisUrl, keyPrefix, flags: ['--systems', path, '--system-partitions', '2'] })
  const readyOf = async (/** @type {{ url: string }} */ { url }) => /** @type {any} */ (await (await fetch(`${url}/readyz`)).json())
  const [old, reader] = await Promise.all([
    startGateway(t, at(older)), startReader(t, { redisUrl, keyPrefix, flags: ['--systems', older] })
  ])
  const oldConsumers = await startConsumers(t, at(older))
  const options = { redisUrl, keyPrefix, partitions: 2, deadlineMs: 10_000 }
  const program = await openSystem({ name: 'counts', rules: { count: { lua: luaOf(1) } } }, options)
  const queries = openQueries({ name: 'counts', rules: { count: { lua: luaOf(1) } } }, { redisUrl, keyPrefix, deadlineMs: 10_000 })
  t.teardown(() => Promise.all([program.close(), queries.close()]))
  const add = (/** @type {typeof old} */ gateway, /** @type {string} */ id) =>
    gateway.send('POST', '/v1/counts/a', '{}', { 'content-type': 'application/json', 'idempotency-key': id })
  for (let i = 0; i < 5; i++) t.match(await add(old, `r-${i}`), { status: 201, json: { n: i + 1 } })
  const { parts } = await queries.opened()
  t.match(await parts.get('a'), { state: { n: '5' } })

  // the newer rule arrives while requests of the older gateway are under way
  const replies = /** @type {Awaited<ReturnType<typeof add>>[]} */ ([])
  let left = Infinity
  const sending = (async () => {
    for (; left > 0; left--) {
      replies.push(await add(old, `d-${replies.length}`))
      await sleep(10)
    }
  })()
  const next = await startGateway(t, at(newer))
  t.match(await add(next, 'new-1'), { status: 201 })
  left = 10
  await sending
  t.ok(replies.every(({ status }) => status === 201 || status >= 500), JSON.stringify(replies.find(({ status }) => status !== 201)?.json))
  t.ok(replies.some(({ status }) => status !== 201), 'the older gateway decides nothing more')
  const refused = replies.filter(({ status }) => status !== 201)
  t.match(refused.at(-1)?.json, { code: 'RULE_DIFFERS' })
  // each is sent again, to the newer one
  const again = await Promise.all(replies.map((_, i) => add(next, `d-${i}`)))
  t.ok(again.every(({ status }) => status === 201))
  const all = 5 + replies.length + 1
  await eventually(async () => {
    const { status, json } = await reader.get(`/v1/counts/a?minSeq=${all}`)
    return status === 200 && json.n === all
  })
  await eventually(async () => (await parts.get('a')).state.count === String(all))
  t.match((await readyOf(old)).reasons, [/^RULE_DIFFERS/])
  await t.rejects(program.submit({ rule: 'count', key: 'a', args: ['add'] }), { code: 'RULE_DIFFERS' })
  t.match(program.status(), { ready: false })

  await t.rejects(oldConsumers.service.ended, { code: 'RULE_DIFFERS' }, 'consumers with the older rule end at a task')
  await startConsumers(t, at(newer))
  await eventually(() => seen.some((one) => one === '2 later 2'))
  await eventually(async () => seen.filter((one) => / added /.test(one)).length >= all)
  t.match(await readyOf(next), { ready: true })
  await t.rejects(openSystem({ name: 'counts', rules: { count: { lua: luaOf(1) } } }, options), { code: 'RULE_DIFFERS' })
  const late = await startGateway(t, at(older))
  t.match(await eventually(async () => {
    const { reasons } = await readyOf(late)
    return reasons.length > 0 && reasons
  }), [/^RULE_DIFFERS/], 'a process with the older rule that starts later says so')
})

t.test('a rule that was upgraded ten times has left one library of functions', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const admin = await connectFor(t, redisUrl)
  const libraries = async () => (await admin.send('FUNCTION', 'LIST', 'LIBRARYNAME', 'freshet_upgrades_*')).map(([, name]) => String(name))
  const seen = new Set()
  for (let version = 1; version <= 10; version++) {
    const system = await openSystem({ name: 'upgrades', rules: { count: { lua: luaOf(2).replace('by = 2', `by = ${version}`), version } } },
      { redisUrl, keyPrefix, partitions: 2, deadlineMs: 10_000 })
    t.match(await system.submit({ rule: 'count', key: 'a', args: ['add'] }), { details: { n: version } })
    await system.close()
    const found = await libraries()
    t.equal(found.length, 1, `version ${version}`)
    seen.add(found[0])
  }
  t.equal(seen.size, 10)
})
