/** The driver of a module: commands that start work are refused while older work waits longer than `--max-wait-ms`. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { sharedDatabase } from '../database.js'
import { admissionKey } from '../../src/admission/index.js'
import { openSystem } from '../../src/systems/index.js'
import { askLease } from '../consumers/lease.js'
import { connectFor, eventually } from '../servers.js'
import { startConsumers, startGateway } from '../services.js'
import { sharedDeployment } from '../shared.js'
import { ruleOf } from './seats.js'

const LUA = ruleOf(`if args[1] == 'run' then return 'ran', {}, { events = { { type = 'ran' } } } end
  return 'started', {}, { events = { { type = 'started' } }, tasks = { run = now } }`)
const TABLE = 'CREATE TABLE NAME_row (key text, seq int)'
const folder = await mkdtemp(join(tmpdir(), 'freshet-driver-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))

/**
 * A module whose work waits while it is held: `globalThis` is that of this process, in which services run.
 * @param {string} name @param {string} parts @returns {Promise<{ path: string, hold: () => void, free: () => void }>}
 */
async function heldModule (name, parts) {
  const path = join(folder, name, 'index.js')
  await mkdir(join(folder, name, 'tables'), { recursive: true })
  await writeFile(join(folder, name, `tables/${name}-001-rows.sql`), TABLE.replace('NAME', name))
  await writeFile(path, `export default { name: '${name}', rules: { work: { lua: ${JSON.stringify(LUA)} } }, ${parts},
    commands: {
      start: {
        path: '/v1/${name}/:id', summary: 'Start work', replies: { started: 201 },
        command: ({ params: { id } }) => ({ rule: 'work', key: id, args: ['start'], startsWork: true })
      },
      other: {
        path: '/v1/${name}/:id/other', summary: 'No work', replies: { started: 201 },
        command: ({ params: { id } }) => ({ rule: 'work', key: id, args: ['start'] })
      }
    } }`)
  const held = /** @type {any} */ (globalThis)
  return { path, hold () { held[name] = resolvers() }, free () { held[name].resolve() } }
}

function resolvers () {
  /** @type {any} */
  const made = {}
  made.promise = new Promise((resolve) => { made.resolve = resolve })
  return made
}

/** @type {[string, string][]} */
const MODULES = [
  ['tasked', `driver: 'tasks', consumers: ({ decideTask }) => ({
    run: async (task) => { await globalThis.tasked?.promise; return decideTask(task) }
  })`],
  ['rowed', `driver: 'work', migrations: new URL('./tables/', import.meta.url), rows: { async work (client, entries) {
    await globalThis.rowed?.promise
    for (const { key, seq } of entries) await client.query('INSERT INTO rowed_row VALUES ($1, $2)', [key, seq])
  } }`]
]

for (const [name, parts] of MODULES) {
  t.test(`${name}: work that waits refuses new work, not other commands, and what was accepted is done`, async (t) => {
    const [database, { primary: { url: redisUrl }, keyPrefix }] = await Promise.all([sharedDatabase(t), sharedDeployment(t)])
    const { path, hold, free } = await heldModule(name, parts)
    const flags = ['--systems', path, '--system-partitions', '1', '--database-url', database.url]
    const gateway = await startGateway(t, { redisUrl, keyPrefix, flags: [...flags, '--max-wait-ms', '1000'] })
    await startConsumers(t, { redisUrl, keyPrefix, flags })
    let requests = 0
    const send = (/** @type {string} */ path, id = `k${++requests}`) =>
      gateway.send('POST', `/v1/${name}/${id}${path}`, '{}', { 'content-type': 'application/json' })
    t.match(await send(''), { status: 201 })
    hold()
    t.match(await send('', 'first'), { status: 201, json: { code: 'started' } })
    const refused = await eventually(async () => {
      const reply = await send('')
      return reply.status !== 201 && reply
    })
    t.match(refused, { status: 503, json: { code: 'ADMISSION_BACKLOG', retryable: true } })
    t.match(await send('/other', 'first'), { status: 201 }, 'it starts no work')
    free()
    await eventually(async () => (await send('')).status === 201)
    if (name === 'rowed') await eventually(async () => (await database.query('SELECT * FROM rowed_row WHERE key = \'first\'')).length > 1)
  })
}

t.test('in a program: tasks drive a system whose driver they are, and commands that start work are refused as in a gateway', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  /** @param {string} name @param {string} [driver] */
  const open = async (name, driver) => {
    const system = await openSystem({ name, rules: { work: { lua: LUA } }, driver },
      { redisUrl, keyPrefix, partitions: 1, deadlineMs: 10_000, maxWaitMs: 60_000 })
    t.teardown(() => system.close())
    let keys = 0
    return { system, start: (startsWork = true) => system.submit({ rule: 'work', key: `k${++keys}`, args: ['start'], startsWork }) }
  }
  const [driven, other] = await Promise.all([open('driven', 'tasks'), open('other')])
  t.match(await driven.start(), { code: 'started', waitMs: null }, 'no process runs tasks')
  await Promise.all([driven, other].map(({ system }) => system.runTasks()))
  await eventually(async () => typeof (await driven.start()).waitMs === 'number')
  t.equal((await other.start()).waitMs, null, 'without the driver')
  await driven.system.close()

  const late = await open('late', 'tasks')
  t.match(await late.start(), { code: 'started' })
  const connection = await connectFor(t, redisUrl)
  await askLease(connection, admissionKey(keyPrefix, 'late', 0, 1), { id: 'c', token: 0, ms: 60_000, waitMs: 70_000 })
  await t.rejects(late.start(), { code: 'ADMISSION_BACKLOG', retryable: true })
  const decision = await late.start(false)
  t.match(decision, { code: 'started' })
  t.notOk('waitMs' in decision, 'only of commands that start work')
  t.match(late.system.account, { accepted: 2, full: 1 })
})

t.test('a driver that nothing has is refused, in a program too', async (t) => {
  const options = { redisUrl: 'redis://127.0.0.1:1' }
  const rules = { work: { lua: LUA } }
  for (const driver of /** @type {any[]} */ (['rows', 7, null])) {
    await t.rejects(openSystem({ name: 'wrong', rules, driver }, options),
      { code: 'SETTINGS_INVALID', faults: [`driver: ${driver}; expected tasks`] })
  }
  await t.rejects(openSystem({ name: 'wrong', rules, rows: { kept: async () => {} }, driver: 'rows' }, options), { message: /expected tasks \| kept/ })
})
