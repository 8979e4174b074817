/** A hundred systems in one process: each has its own rule, keys, routes, tasks and consumers. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openSystem } from '../../src/systems/index.js'
import { connectFor, eventually } from '../servers.js'
import { startConsumers, startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'
import { ruleOf } from './seats.js'

const COUNT = 100
const names = Array.from({ length: COUNT }, (_, i) => `s${i}`)
/** @param {string} name */
const luaOf = (name) => ruleOf(`if args[1] == 'ring' then return 'rang', {}, { events = { { type = 'rang', by = '${name}' } } } end
  state.of = '${name}'
  return 'held', { by = '${name}' }, { events = { { type = 'held', by = '${name}' } }, tasks = { ring = now } }`)
const seen = /** @type {any} */ (globalThis).freshetSeen = /** @type {Record<string, string[]>} */ ({})

/** @param {import('tap').Test} t @returns {Promise<string[]>} paths of modules */
async function modules (t) {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-hundred-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return Promise.all(names.map(async (name) => {
    const path = join(folder, `${name}.js`)
    await writeFile(path, `export default { name: '${name}', rules: { seat: { lua: ${JSON.stringify(luaOf(name))} } },
      settings: { ${name}Ms: { description: 'Of ${name}', type: 'integer', default: 1 } },
      commands: { hold: {
        path: '/v1/${name}/:id', summary: 'Hold', replies: { held: 201 },
        command: ({ params }) => ({ rule: 'seat', key: params.id, args: ['hold'] })
      } },
      queries: { one: { path: '/v1/${name}/:id', summary: 'One', shown: ({ state, seq }) => ({ ...state, seq }) } },
      consumers: { note (entries) {
        for (const { type, by } of entries) (globalThis.freshetSeen['${name}'] ??= []).push(type + ' ' + by)
      } } }`)
    return path
  }))
}

t.test('gateway, reader and consumers serve a hundred modules, and each gets what is its own', async (t) => {
  const [{ primary: { url: redisUrl }, keyPrefix }, paths] = await Promise.all([sharedDeployment(t), modules(t)])
  const flags = ['--systems', paths.join(), '--system-partitions', '1', '--deadline-ms', '60000']
  const [gateway, reader] = await Promise.all([
    startGateway(t, { redisUrl, keyPrefix, flags }), startReader(t, { redisUrl, keyPrefix, flags: flags.slice(0, 2) })
  ])
  const send = (/** @type {string} */ name) => gateway.send('POST', `/v1/${name}/a`, '{}', { 'content-type': 'application/json' })
  const replies = await Promise.all(names.map(send))
  t.same(replies.map(({ status, json }) => [status, json.code, json.by]), names.map((name) => [201, 'held', name]))
  const { service } = await startConsumers(t, { redisUrl, keyPrefix, flags })
  await eventually(() => names.every((name) => seen[name]?.length >= 2))
  t.same(names.map((name) => seen[name].slice(0, 2)), names.map((name) => [`held ${name}`, `rang ${name}`]))
  for (const name of names) {
    const { json } = await eventually(async () => {
      const reply = await reader.get(`/v1/${name}/a?minSeq=2`)
      return reply.status === 200 && reply
    })
    t.match(json, { of: name, seq: 2 })
  }
  t.equal((await fetch(`${gateway.url}/readyz`)).status, 200)
  t.equal(await service.stop(), 0, 'consumers end')
  const admin = await connectFor(t, redisUrl)
  const libraries = await admin.send('FUNCTION', 'LIST', 'LIBRARYNAME', 'freshet_s*')
  t.ok(libraries.length >= COUNT, `${libraries.length} libraries`)
})

t.test('a program opens a hundred systems, and closes them', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const systems = await Promise.all(names.map((name) => openSystem({ name, rules: { seat: { lua: luaOf(name) } } },
    { redisUrl, keyPrefix, partitions: 1, deadlineMs: 60_000 })))
  const all = await Promise.all(systems.map((system) => system.submit({ rule: 'seat', key: 'a', args: ['hold'] })))
  t.same(all.map(({ details }) => details.by), names)
  const states = await Promise.all(systems.map((system) => system.get('a')))
  t.same(states.map((one) => one?.state.of), names)
  await Promise.all(systems.map((system) => system.close()))
})
