/** The smaller examples of docs/own-systems.md; the others: test/docs/examples.test.js, test/examples/seats.test.js. */
import { execFile } from 'node:child_process'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { settingsOf } from '../../settings.js'
import { settingsOfModules } from '../../src/systems/list.js'
import { openSystem } from '../../src/systems/index.js'
import { endOfMain } from '../bin/in-process.js'
import { sharedDatabase } from '../database.js'
import { eventually } from '../servers.js'
import { startConsumers, startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'
import { commandsIn, exampleOf, ROOT } from './examples.js'

const run = promisify(execFile)
const PAGE = 'docs/own-systems.md'
const { primary, keyPrefix } = await sharedDeployment(t)
const redisUrl = primary.url
const [first] = await exampleOf(PAGE, 'own')
const lua = String(/const lua = `\n([^`]+)`/.exec(first)?.[1])
const RULES = `rules: { seat: { lua: ${JSON.stringify(lua)} } },`

/** What the page has in this place before: a definition, and where the servers are. @param {string} code @param {string} ownPrefix */
const programOf = (code, ownPrefix) => code.replace('\'freshet-feed/systems\'', `'${pathToFileURL(join(ROOT, 'src/systems/index.js'))}'`)
  .replaceAll('{ redisUrl', `{ redisUrl: '${redisUrl}', keyPrefix: '${ownPrefix}', deadlineMs: 10_000`)
  .replace('const queries', `const definition = { name: 'seats', ${RULES} }\nconst queries`)
  .replace('await checkRule(rule', `await checkRule({ lua: ${JSON.stringify(lua)} }`)

t.test('queries of a program', async (t) => {
  const seats = await openSystem({ name: 'seats', rules: { seat: { lua } } }, { redisUrl, keyPrefix: `${keyPrefix}q:`, deadlineMs: 10_000 })
  t.teardown(() => seats.close())
  await seats.submit({ rule: 'seat', key: 'A-12', args: ['hold', 'ann'] })
  const [code] = await exampleOf(PAGE, 'queries')
  const folder = t.testdir({ 'program.mjs': programOf(code, `${keyPrefix}q:`) })
  t.same(await run(process.execPath, ['program.mjs'], { cwd: folder }), { stdout: '{ holder: \'ann\' }\n', stderr: '' })
})

t.test('a rule that is checked', async (t) => {
  const [code] = await exampleOf(PAGE, 'check')
  const folder = t.testdir({ 'program.mjs': programOf(code, `${keyPrefix}c:`) })
  t.match(await run(process.execPath, ['program.mjs'], { cwd: folder }), { stdout: /seed/, stderr: '' })
})

t.test('processes with a module', async (t) => {
  const [block] = await exampleOf(PAGE, 'commands')
  const folder = t.testdir()
  await cp(join(ROOT, 'examples/seats'), join(folder, 'seats'), { recursive: true })
  const shown = commandsIn(block, { './seats/index.js': join(folder, 'seats/index.js') })
  t.same(Object.keys(shown), ['demo', 'gateway', 'reader', 'consumers', 'dead-letters', 'doctor'])
  const on = { redisUrl, keyPrefix: `${keyPrefix}m:` }
  const [gateway, reader] = await Promise.all([
    startGateway(t, { ...on, flags: shown.gateway }),
    startReader(t, { ...on, flags: [...shown.reader, '--read-from', 'primary'] }),
    startConsumers(t, { ...on, flags: shown.consumers })
  ])
  t.match(await gateway.send('PUT', '/v1/halls/opera', '{"rows":3,"perRow":10}', { 'content-type': 'application/json' }), { status: 201 })
  t.match(await reader.ask('/v1/halls/opera?minSeq=1'), { status: 200, json: { rows: 3 } })
  const where = ['--redis-url', redisUrl, '--key-prefix', on.keyPrefix]
  t.match(await endOfMain(['dead-letters', ...shown['dead-letters'], ...where]), { code: 0, stdout: '' })
  t.match(await endOfMain(['doctor', ...shown.doctor, ...where]), { code: 0, stdout: /system seats +hall 1 +stored: hall 1/ })
})

t.test('settings of a module', async (t) => {
  const [code] = await exampleOf(PAGE, 'settings')
  const folder = t.testdir({ 'index.js': `export default {\n  name: 'seats',\n  ${RULES}\n${code}}\n` })
  const argv = ['--systems', join(folder, 'index.js')]
  /** @param {string[]} flags @param {Record<string, string>} env @returns {Promise<any>} */
  const valuesOf = (flags, env) => settingsOf({ argv: [...argv, ...flags], env }, { command: 'gateway', settingsOfModules }, '')
  t.match(await valuesOf([], {}), { holdMs: 120_000 })
  t.match(await valuesOf(['--hold-ms', '60000'], {}), { holdMs: 60_000 })
  t.match(await valuesOf([], { SEATS_HOLD_MS: '60000' }), { holdMs: 60_000 })
})

t.test('rows, metrics and a page of a module', async (t) => {
  const [code] = await exampleOf(PAGE, 'rows')
  const withRules = code.replace('// rules, commands, queries', RULES.replace('type = \'held\', holder', 'type = \'sold\', person'))
  const folder = t.testdir({
    'index.js': withRules,
    tables: { 'seats-001-receipts.sql': 'CREATE TABLE receipt (key text, seq bigint, person text, PRIMARY KEY (key, seq))' },
    page: { 'index.html': '<!doctype html><title>Seats</title>' }
  })
  const module = join(folder, 'index.js')
  const database = await sharedDatabase(t)
  const on = { redisUrl, keyPrefix: `${keyPrefix}r:` }
  await startConsumers(t, { ...on, flags: ['--systems', module, '--database-url', database.url] })
  const reader = await startReader(t, { ...on, flags: ['--systems', module, '--read-from', 'primary'] })
  t.match(await reader.get('/seats'), { status: 200, body: /<title>Seats/ })
  const { default: definition } = await import(module)
  const seats = await openSystem(definition, { ...on, deadlineMs: 10_000 })
  t.teardown(() => seats.close())
  await seats.submit({ rule: 'seat', key: 'A-12', args: ['hold', 'ann'] })
  t.same(await eventually(async () => {
    const rows = await database.query('SELECT key, seq::int, person FROM receipt')
    return rows.length > 0 && rows
  }), [{ key: 'A-12', seq: 1, person: 'ann' }])
})
