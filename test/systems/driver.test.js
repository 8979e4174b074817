/** The driver of a module: commands that start work are refused while older work waits longer than `--max-wait-ms`. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { sharedDatabase } from '../database.js'
import { eventually } from '../servers.js'
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
