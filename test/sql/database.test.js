/** The database: errors, deadlines, the pool, migrations, on a real PostgreSQL. */
import { mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { migrate, openDatabase } from '../../src/sql/index.js'
import { query as queryAt, startDatabase } from '../database.js'
import { startProxy } from '../proxy.js'
import { eventually, silentLog } from '../servers.js'

// as root, PostgreSQL runs as another user, to which folders of PATH may be closed
const { PATH } = process.env
const closed = await mkdtemp(join(tmpdir(), 'freshet-test-'))
t.teardown(() => rm(closed, { recursive: true }))
for (const program of ['/usr/bin/id', '/bin/sh']) await symlink(program, join(closed, basename(program)))
process.env.PATH = closed
const server = await startDatabase(t)
process.env.PATH = PATH
const DEADLINE_MS = 1000
const [AUCTIONS, ORDERS, SALES] = ['auctions', 'orders', 'sales']
  .map((system) => new URL(`../../src/systems/${system}/migrations/`, import.meta.url))

/** @param {import('tap').Test} t @param {{ url?: string, max?: number }} [options] */
function open (t, { url = server.url, max = 2 } = {}) {
  const database = openDatabase({ url, name: 'test', max, deadlineMs: DEADLINE_MS, log: silentLog })
  t.teardown(() => database.close())
  return database
}

t.test('a port that accepts and never answers is an error in time, and says where', async (t) => {
  const proxy = await startProxy(t, Number(new URL(server.url).port))
  const url = server.url.replace(/@127.0.0.1:\d+/, `@127.0.0.1:${proxy.port}`)
  proxy.goSilent()
  const database = open(t, { url })
  const error = await database.query('SELECT 1').catch((failure) => failure)
  t.match(error, { code: 'DATABASE_DOWN', retryable: true, message: new RegExp(`127.0.0.1:${proxy.port}`) })
  t.notMatch(error.message, new URL(server.url).password)
  t.notOk(database.isUp)
  proxy.speak()
  await eventually(async () => (await database.query('SELECT 1').catch(() => null))?.rowCount === 1)
  t.ok(database.isUp)
})

t.test('a database that stays silent keeps no process from ending', async (t) => {
  const proxy = await startProxy(t, Number(new URL(server.url).port))
  const url = server.url.replace(/@127.0.0.1:\d+/, `@127.0.0.1:${proxy.port}`)
  const database = openDatabase({ url, name: 'test', max: 2, deadlineMs: 60_000, log: silentLog })
  await Promise.all([database.query('SELECT 1'), database.query('SELECT 2')])
  t.equal(proxy.lines.length, 2)
  proxy.goSilent()
  const lost = database.query('SELECT 1').catch((error) => error.code)
  await eventually(() => database.figures().idle === 1)
  const startedAt = performance.now()
  await database.close()
  t.equal(await lost, 'DATABASE_DOWN')
  await eventually(() => proxy.lines.length === 0)
  t.ok(performance.now() - startedAt < 30_000, 'it waited neither for the statement nor for goodbyes')
})

t.test('what a statement does wrong is not retryable; what the database lacks is', async (t) => {
  const database = open(t)
  await database.query('CREATE TABLE IF NOT EXISTS numbers (n int PRIMARY KEY CHECK (n < 10))')
  await t.rejects(database.query('INSERT INTO numbers VALUES (11)'), { code: 'DATABASE_REFUSED', retryable: false, sqlState: '23514' })
  await t.rejects(database.query('SELECT nothing'), { code: 'DATABASE_REFUSED', sqlState: '42703' })
  await t.rejects(database.query('SELECT pg_sleep(5)'), { code: 'DATABASE_TIMEOUT', retryable: true, isOfStatement: true },
    'longer than its deadline')
  t.ok(database.isUp)
  t.equal((await database.query("SELECT count(*) AS n FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep%' AND state = 'active'"))
    .rows[0].n, '0', 'nothing runs on unnoticed')
})

t.test('an error of the database with megabytes of text is cut, and code in a transaction may throw anything', async (t) => {
  const database = open(t)
  const error = await database.query("DO $$ BEGIN RAISE EXCEPTION '%', repeat('x', 5242880); END $$").catch((error) => error)
  t.match(error, { code: 'DATABASE_REFUSED', message: /^the database rejected the statement: x+\.\.\. \(\d+ characters\)$/ })
  t.ok(Buffer.byteLength(error.message) <= 4096)
  for (const thrown of [null, undefined]) {
    await t.rejects(database.transaction(async () => { throw thrown }), { message: `${thrown} was thrown` })
  }
  t.ok(database.isUp)
  t.same(database.figures(), { ...database.figures(), idle: database.figures().total })
})

t.test('a transaction is whole or nothing, also when its connection is cut off', async (t) => {
  const database = open(t)
  await database.query('CREATE TABLE IF NOT EXISTS parts (n int)')
  await t.rejects(database.transaction(async (client) => {
    await client.query('INSERT INTO parts VALUES (1)')
    await client.query('INSERT INTO numbers VALUES (11)')
  }), { code: 'DATABASE_REFUSED' })
  await t.rejects(database.transaction(async (client) => {
    await client.query('INSERT INTO parts VALUES (2)')
    const { rows: [{ pid }] } = await client.query('SELECT pg_backend_pid() AS pid')
    await server.query('SELECT pg_terminate_backend($1)', [pid])
    await client.query('INSERT INTO parts VALUES (3)')
  }), { code: 'DATABASE_DOWN', retryable: true, isOfStatement: true })
  t.same((await database.query('SELECT n FROM parts')).rows, [])
  t.equal(await database.transaction(async (client) => (await client.query('INSERT INTO parts VALUES (4)')).rowCount), 1)
})

t.test('a wait for a lock ends before the statement would, and is not its fault', async (t) => {
  const database = open(t)
  await database.transaction(async (client) => {
    await client.query('SELECT pg_advisory_xact_lock(7)')
    await t.rejects(database.transaction((other) => other.query('SELECT pg_advisory_xact_lock(7)')),
      { code: 'DATABASE_DOWN', sqlState: '55P03', isOfStatement: false })
  })
})

t.test('an exception inside a transaction is not an outage', async (t) => {
  const fault = new TypeError('mine')
  await t.rejects(open(t).transaction(async () => { throw fault }), fault)
})

t.test('a full disk is an outage, with its reason', async (t) => {
  const full = "DO $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full'; END $$"
  await t.rejects(open(t).query(full), { code: 'DATABASE_DOWN', retryable: true, sqlState: '53100', message: /cannot .* No space left/ })
})

t.test('a database that is killed inside a transaction keeps nothing of it, and everything that was committed', async (t) => {
  const database = open(t)
  await database.query('CREATE TABLE kept (n int)')
  await database.query('INSERT INTO kept VALUES (1)')
  await t.rejects(database.transaction(async (client) => {
    await client.query('INSERT INTO kept VALUES (2)')
    await server.crash()
    await client.query('INSERT INTO kept VALUES (3)')
  }), { code: 'DATABASE_DOWN', retryable: true })
  const { rows } = /** @type {any} */ (await eventually(() => database.query('SELECT n FROM kept').catch(() => false)))
  t.same(rows, [{ n: 1 }])
})

t.test('the wait for a connection is bounded, and counted', async (t) => {
  const database = open(t, { max: 1 })
  const holding = database.transaction((client) => client.query('SELECT pg_sleep(0.7)'))
  await eventually(() => database.figures().total === 1)
  const waiting = [database.query('SELECT 1'), database.query('SELECT 2')]
  t.match(database.figures(), { total: 1, waiting: 2 })
  await Promise.all([holding, ...waiting])
  t.match(database.figures(), { total: 1, idle: 1, waiting: 0 })
})

/**
 * A database of an earlier version, whose migrations had other names and made the same tables, with a bid.
 * @param {import('tap').Test} t @param {string} schema
 */
async function openEarlier (t, schema) {
  await server.query(`CREATE SCHEMA ${schema}`)
  const database = open(t, { url: `${server.url}?options=-csearch_path%3D${schema}` })
  for (const folder of [new URL('../../src/sql/migrations/', import.meta.url), AUCTIONS, ORDERS, SALES]) {
    for (const name of (await readdir(folder)).sort()) {
      await database.query((await readFile(new URL(name, folder), 'utf8')).replaceAll('IF NOT EXISTS ', ''))
    }
  }
  await database.query('CREATE TABLE freshet_migrations (name text PRIMARY KEY, hash text NOT NULL, applied_at timestamptz DEFAULT now())')
  await database.query(`INSERT INTO freshet_migrations VALUES ('001-orders-and-bids.sql', '1'), ('002-sagas.sql', '2'),
    ('003-open-products.sql', '3'), ('004-system-secrets.sql', '4')`)
  await database.query("INSERT INTO bids (auction, seq, request_id, user_id, amount, kind, at) VALUES ('a', 1, '', 'ann', 5, 'bid', now())")
  return database
}

t.test('a database that an earlier version has migrated, under other names, keeps its rows', async (t) => {
  const database = await openEarlier(t, 'earlier')
  t.same(await migrate(database, [AUCTIONS, ORDERS, SALES]), ['auctions-001-bids.sql', 'engine-001-systems.sql', 'orders-001-sagas.sql',
    'orders-002-open-products.sql', 'orders-003-sold-claims.sql', 'sales-001-orders.sql'])
  t.same(await migrate(database, [AUCTIONS, ORDERS, SALES]), [])
  t.match((await database.query('SELECT user_id FROM bids')).rows, [{ user_id: 'ann' }])
})

t.test('migrations of each system run once, also when two processes begin at once; one that differs is refused', async (t) => {
  const [one, other] = [open(t), open(t)]
  const done = await Promise.all([migrate(one, [AUCTIONS]), migrate(other, [AUCTIONS])])
  t.same(done.flat(), ['auctions-001-bids.sql', 'engine-001-systems.sql'])
  t.same(await migrate(one, [AUCTIONS]), [])
  t.same(await migrate(one), [], 'a process that does not serve a system does not need its files')
  const folder = await mkdtemp(join(tmpdir(), 'freshet-migrations-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const differs = { code: 'DATABASE_DIFFERS', exitStatus: 2, message: /auctions-001-bids/ }
  await writeFile(join(folder, 'auctions-001-bids.sql'), 'SELECT 1')
  await t.rejects(migrate(one, [pathToFileURL(`${folder}/`)]), differs)
  await rename(join(folder, 'auctions-001-bids.sql'), join(folder, 'auctions-000-before.sql'))
  await t.rejects(migrate(one, [pathToFileURL(`${folder}/`)]), differs, 'a later version has made tables of this system')
  await rm(join(folder, 'auctions-000-before.sql'))
  await writeFile(join(folder, 'mine-001-one.sql'), 'CREATE TABLE mine (a int)')
  await writeFile(join(folder, 'mine-002-two.sql'), 'CREATE TABL mine')
  await t.rejects(migrate(one, [pathToFileURL(`${folder}/`)]), { message: /syntax error/ })
  await writeFile(join(folder, 'mine-002-two.sql'), 'DROP TABLE mine')
  t.same(await migrate(one, [pathToFileURL(`${folder}/`)]), ['mine-001-one.sql', 'mine-002-two.sql'], 'one that fails leaves nothing')
})

t.test('the embedded one gives other users of the machine nothing, and who has its password no more than its database', async (t) => {
  const { url, query, folder } = server
  const { username, password } = new URL(url)
  const as = (/** @type {string} */ user, /** @type {string} */ word) => `postgres://${user}:${word}@${new URL(url).host}/postgres`
  t.match(password, /^[\w-]{24}$/)

  async function isClosed () {
    await t.rejects(queryAt(as(username, ''), 'SELECT 1'))
    await t.rejects(queryAt(as(username, 'guessed'), 'SELECT 1'), { code: '28P01' })
    await t.rejects(queryAt(as('postgres', password), 'SELECT 1'), { code: '28000' })
    await t.rejects(queryAt(url.replace(/postgres$/, 'template1'), 'SELECT 1'), { code: '28000' })
  }
  await isClosed()
  t.same(await query('SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication FROM pg_roles WHERE rolname = current_user'),
    [{ rolsuper: false, rolcreaterole: false, rolcreatedb: false, rolreplication: false }])
  await query('CREATE TABLE words (word text)')
  await t.rejects(query("COPY words FROM PROGRAM 'id'"), { code: '42501' })
  await t.rejects(query("COPY words FROM '/etc/passwd'"), { code: '42501' })
  await t.rejects(query("SELECT pg_read_file('/etc/passwd')"), { code: '42501' })

  // what an earlier version left
  const access = join(folder, 'data', 'pg_hba.conf')
  await writeFile(access, 'host all all 127.0.0.1/32 trust\n')
  await server.crash()
  await isClosed()
  t.equal((await stat(access)).mode & 0o777, 0o600)
  t.same(await query('SELECT * FROM words'), [], 'its data and password are those of before')
})
