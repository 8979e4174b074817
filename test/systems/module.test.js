/** What a module of a user has beside routes: tables, metrics and a page. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import { openSystem } from '../../src/systems/index.js'
import { loadSystems } from '../../src/systems/list.js'
import { sharedDatabase } from '../database.js'
import { eventually, freePort } from '../servers.js'
import { startConsumers, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'
import { ruleOf } from './seats.js'

const [{ url: databaseUrl, query }, { primary: { url: redisUrl }, keyPrefix }] = await Promise.all([sharedDatabase(t), sharedDeployment(t)])
const folder = await mkdtemp(join(tmpdir(), 'freshet-module-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const LUA = ruleOf(`if args[1] == 'plan' then return 'planned', {}, { tasks = { ring = now } } end
  return 'logged', {}, { events = { { type = 'logged', text = args[1] } } }`)
const TABLE = 'CREATE TABLE receipt (key text, seq int, text text, PRIMARY KEY (key, seq))'

/** @param {Record<string, string>} files by path @returns {Promise<void>} */
async function write (files) {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), text)
  }
}

/** @param {string} name @param {string} parts @returns {Promise<string>} path of a module */
async function moduleOf (name, parts) {
  const text = `import { Counter } from '${import.meta.resolve('prom-client')}'
    export default { name: '${name}', rules: { seat: { lua: ${JSON.stringify(LUA)} } }, ${parts} }`
  await write({ [`${name}.js`]: text })
  return join(folder, `${name}.js`)
}

t.test('its consumers write rows into tables of its own, and count; its page comes from the reader', async (t) => {
  await write({
    'tables/mine-001-receipts.sql': TABLE,
    'tables/mine-002-index.sql': 'CREATE INDEX receipt_text ON receipt (text)',
    'page/index.html': '<!doctype html><meta name="gateway" content=""><script src="/mine/page.js" type="module"></script>',
    'page/page.js': 'document.title = 1'
  })
  const path = await moduleOf('mine', `
    migrations: new URL('./tables/', import.meta.url),
    page: new URL('./page/', import.meta.url),
    metrics: (registry) => new Counter({ name: 'mine_receipts_total', help: 'Receipts', registers: [registry] }),
    consumers: {
      async receipts (entries, { database, metrics }) {
        await database.transaction(async (client) => {
          for (const { key, seq, text } of entries) {
            await client.query('INSERT INTO receipt VALUES ($1, $2, $3) ON CONFLICT DO NOTHING', [key, seq, text])
          }
        })
        metrics.inc(entries.length)
      }
    }`)
  const metricsPort = await freePort()
  const flags = ['--systems', path]
  await startConsumers(t, { redisUrl, keyPrefix, flags: [...flags, '--database-url', databaseUrl, '--metrics-port', String(metricsPort)] })
  const { rules } = (await import(path)).default
  const system = await openSystem({ name: 'mine', rules }, { redisUrl, keyPrefix, deadlineMs: 10_000 })
  t.teardown(() => system.close())
  await system.submit({ rule: 'seat', key: 'a', args: ['one'] })
  await system.submit({ rule: 'seat', key: 'b', args: ['plan'] })
  t.same(await eventually(async () => {
    const rows = await query('SELECT * FROM receipt ORDER BY key')
    return rows.length > 1 && rows
  }), [{ key: 'a', seq: 1, text: 'one' }, { key: 'b', seq: 1, text: 'ring' }], 'scheduled tasks run there, too')
  await eventually(async () => /^mine_receipts_total 2$/m.test(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()))

  const { url } = await startReader(t, { redisUrl, keyPrefix, flags: [...flags, '--gateway-url', 'http://127.0.0.1:8081'] })
  const page = await fetch(`${url}/mine`)
  t.match(await page.text(), '<meta name="gateway" content="http://127.0.0.1:8081">')
  t.match(page.headers.get('content-security-policy'), /script-src 'self'.*connect-src 'self' http:\/\/127\.0\.0\.1:8081/)
  t.equal(await (await fetch(`${url}/mine/page.js`)).text(), 'document.title = 1')
})

t.test('a migration that fails ends the process with its file and the words of the database, and leaves no table', async (t) => {
  await write({ 'bad/bad-001-receipts.sql': TABLE.replace('receipt', 'bad_receipt'), 'bad/bad-002-more.sql': 'CREATE TABL more ()' })
  const path = await moduleOf('bad', "migrations: new URL('./bad/', import.meta.url), consumers: { receipts () {} }")
  const flags = ['--systems', path, '--database-url', databaseUrl]
  const tables = () => query('SELECT tablename FROM pg_tables WHERE schemaname = current_schema() ORDER BY 1')
  const before = await tables()
  await t.rejects(startConsumers(t, { redisUrl, keyPrefix, flags }), {
    code: 'MIGRATION_FAILED',
    exitStatus: 2,
    message: /migration bad-002-more\.sql: the database rejected the statement: syntax error at or near "TABL"; no migration was run/
  })
  t.same(await tables(), before)
  await write({ 'bad/bad-002-more.sql': 'CREATE TABLE more ()' })
  await startConsumers(t, { redisUrl, keyPrefix, flags })
  await eventually(async () => (await tables()).some(({ tablename }) => tablename === 'more'))
})

t.test('what cannot be used is refused, with the reason', async (t) => {
  await write({ 'empty/readme.txt': 'x' })
  const modules = /** @type {[string, RegExp][]} */ ([
    ["migrations: './tables', metrics: {}, page: new URL('./page', import.meta.url)",
      /metrics: a value of type object; .*page: .*the URL of a folder, which ends with \/.*migrations: '\.\/tables'; /s],
    ["migrations: new URL('./none/', import.meta.url)", /migrations: unreadable \(ENOENT/],
    ["migrations: new URL('./tables/', import.meta.url)",
      /migrations: 'mine-001-receipts\.sql'; expected a name such as wrong2-001-tables\.sql/]
  ])
  for (const [i, [parts, message]] of modules.entries()) {
    await t.rejects(loadSystems([await moduleOf(`wrong${i}`, parts)]), { code: 'SETTINGS_INVALID', message }, parts)
  }
  const pages = await moduleOf('pages', "page: new URL('./empty/', import.meta.url)")
  await t.rejects(startReader(t, { redisUrl, keyPrefix, flags: ['--systems', pages] }), {
    code: 'SETTINGS_INVALID', message: /page of pages: readme\.txt; expected files that end with \.html.*page of pages: .* has no index\.html/s
  })
  const example = await moduleOf('example', "page: new URL('./page/', import.meta.url)")
  await t.rejects(startReader(t, { redisUrl, keyPrefix, flags: ['--systems', example] }),
    { code: 'SETTINGS_INVALID', message: /a route of a system is one of Freshet's own: .*\/example.*choose another path/ })
  const parts = "metrics: (registry) => new Counter({ name: 'freshet_dead_letters', help: 'x', registers: [registry] })"
  const taken = await moduleOf('taken', parts)
  await t.rejects(startConsumers(t, { redisUrl, keyPrefix, flags: ['--systems', taken] }), {
    code: 'SETTINGS_INVALID', message: /system taken: metrics throws \(A metric with the name freshet_dead_letters has already been registered/
  })
})
