/** The users of docs/acl: each may run the commands of its role and no others, and servers receive exactly those. */
import { readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import t from 'tap'
import { LAB_COMMANDS, LAB_PREFIX, LAB_USER } from '../../lab/servers/commands.js'
import { admissionKey, ownerOf } from '../../src/admission/index.js'
import { openReader } from '../../src/index.js'
import { partitionOf } from '../../src/item/index.js'
import { layoutNames } from '../../src/layouts/index.js'
import { openSystem } from '../../src/systems/index.js'
import { COMMANDS, ROLES, USERS, commandName, permissions, permissionsFor, rowsOf } from '../../src/store/commands.js'
import { endOfMain } from '../bin/in-process.js'
import { sharedDatabase } from '../database.js'
import { startWriter } from '../flow/writer.js'
import { startProxy } from '../proxy.js'
import { engineName, eventually, openWriterFor } from '../servers.js'
import { startConsumers, startGateway, startReader } from '../services.js'
import { FILES, fileOf, startGuarded } from './guarded.js'
import { scopedEngines } from '../scope.js'

const engines = await scopedEngines()

const WAITING = 30
const LAST = `u${WAITING - 1}`

t.test('the files match the table, and no row is there twice', async (t) => {
  for (const msetex of FILES.keys()) {
    const lines = Object.entries(USERS).map(([name, roles]) => `user ${name} on ${permissions(roles, { keyPrefix: 'fr:', msetex })}\n`)
    const lab = `user freshet-lab on ${permissionsFor(LAB_USER, { keyPrefix: LAB_PREFIX, msetex })}\n`
    t.equal(await readFile(fileOf(msetex), 'utf8'), [...lines, lab].join(''), String(FILES.get(msetex)))
  }
  const names = [...COMMANDS.filter((row) => commandName(row) !== 'SCAN'), ...LAB_COMMANDS].map(commandName)
  t.same(names, [...new Set(names)])
  const text = await readFile(new URL('../../docs/acl/README.md', import.meta.url), 'utf8')
  for (const name of [...Object.keys(USERS), 'freshet-lab']) {
    t.match(text, new RegExp(`^\\| \`${name}\` \\| `, 'm'), `README says what ${name} is for`)
  }
  const [, table] = /** @type {RegExpExecArray} */ (/^## What can be left out\n\n((?:\|.*\n)+)/m.exec(text))
  const dispensable = [...table.matchAll(/`\+([^`]+)`/g)].map(([, rule]) => rule.replace('\\|', '|').toUpperCase())
  t.same(dispensable.sort(), COMMANDS.filter(({ without }) => without).map(commandName).sort(),
    'README and table name the same optional permissions')
})

for (const engine of engines) {
  t.test(engineName(engine), async (t) => {
    const [{ primary, control, onReplica, urlOf }, database] = await Promise.all([startGuarded(t, engine), sharedDatabase(t)])
    /** Without pip, where nothing but the server is there: its version takes longer than everything else. */
    const env = { PATH: dirname(engine.program) }
    /** of somebody who waits in the queue of a sale */
    let ticket = ''

    /** A sale with holds that are confirmed and expire, a queue, orders, and a dead letter. @param {any} gateway */
    async function sellOut (gateway) {
      const flags = ['--database-url', database.url, '--systems', 'sales']
      const { service } = await startConsumers(t, { redisUrl: urlOf('writer'), flags })
      /** @param {string} method @param {string} path @param {object} [body] @param {Record<string, string>} [headers] */
      const send = (method, path, body, headers = {}) => {
        const all = { ...(body && { 'content-type': 'application/json' }), ...headers }
        return gateway.send(method, `/v1/${path}`, body && JSON.stringify(body), all)
      }
      t.equal((await send('PUT', 'sales/q', { stock: 3, mode: 'queue', admitConcurrency: 1, holdMs: 3000 })).status, 201)
      const join = async (/** @type {string} */ userId) => (await send('POST', 'sales/q/queue', { userId })).json
      const first = await join('ann')
      t.equal((await send('POST', 'sales/q/claims', { userId: 'ann' }, { 'freshet-ticket': first.ticket })).status, 201)
      // the last of them is not admitted while this lasts
      for (let n = 0; n < WAITING; n++) ticket = (await join(`u${n}`)).ticket
      t.equal((await join(LAST)).status, 'waiting')
      await control.send('XADD', admissionKey('fr:', 'sales', 1, 16)('dead'), '1-0', 'key', 'q', 'fields', '[]')
      t.equal((await send('DELETE', 'systems/sales/dead-letters/1:1-0')).status, 200)
      await eventually(async () => {
        await send('POST', 'sales/q/resume')
        const names = await seen()
        return ['HVALS', 'XLEN'].every((name) => names.includes(name))
      })
      await send('POST', 'sales/q/pause')
      t.equal(await service.stop(), 0)
    }

    /** A rule of a user that never ends. */
    async function stopRule () {
      await control.send('CONFIG', 'SET', 'busy-reply-threshold', 100)
      const system = await openSystem({ name: 'never', rules: { ends: { lua: 'return function () while true do end end' } } },
        { redisUrl: urlOf('writer') })
      await t.rejects(system.submit({ rule: 'ends', key: 'a', args: [] }), { code: 'RULE_FAILED', isStopped: true })
      await system.close()
      // the function of the earlier version is deleted
      const ends = { lua: "return function () return 'ended', {}, { reopens = true } end", version: 2 }
      const newer = await openSystem({ name: 'never', rules: { ends } }, { redisUrl: urlOf('writer') })
      await newer.submit({ rule: 'ends', key: 'a', args: [] })
      await newer.close()
    }

    /** The same, called by a process that has ended. */
    async function stopFromReader () {
      const seats = new URL('../../examples/seats/index.js', import.meta.url)
      const { default: module } = await import(seats.href)
      const system = await openSystem(module, { redisUrl: primary.url })
      await system.submit({ rule: 'hall', key: 'opera', args: ['create', '3', '3'] })
      await system.close()
      const { service, get } = await startReader(t, { redisUrl: urlOf('reader'), flags: ['--systems', seats.pathname] })
      await eventually(async () => (await get('/v1/halls/opera')).status === 200)
      const library = `${ownerOf('fr:', 'seats')}_x`
      const body = `redis.register_function('${library}', function () while true do end end)`
      await control.send('FUNCTION', 'LOAD', `#!lua name=${library}\n${body}`)
      await t.rejects(control.send('FCALL', library, 0), /killed by user/)
      t.equal(await service.stop(), 0)
    }

    const known = (/** @type {import('../../src/store/commands.js').CommandRow} */ { isWithMsetex }) => engine.hasMsetex || !isWithMsetex

    /** @param {string} role @param {string[]} words */
    const mayRun = async (role, words) => String(await control.send('ACL', 'DRYRUN', `freshet-${role}`, ...words)) === 'OK'

    await t.test('each user may run the commands of its role, on its keys only', async (t) => {
      for (const role of ROLES) {
        for (const row of rowsOf(role).filter(known)) {
          t.ok(await mayRun(role, row.words('fr:{a:0}:b')), `${role} ${commandName(row)}`)
          const words = row.words('other:{a:0}:b')
          if (words.includes('other:{a:0}:b')) t.notOk(await mayRun(role, words), `${role} ${commandName(row)} elsewhere`)
        }
      }
    })

    await t.test('the same for users with several roles, and the lab', async (t) => {
      for (const row of rowsOf(...USERS['freshet-library']).filter(known)) {
        t.ok(await mayRun('library', row.words('fr:{a:0}:b')), `library ${commandName(row)}`)
      }
      for (const row of LAB_USER.filter(known)) {
        const [words, elsewhere] = ['lab-12345678:{a:0}:b', 'fr:{a:0}:b'].map((key) => row.words(key))
        t.ok(await mayRun('lab', words), `lab ${commandName(row)}`)
        if (elsewhere.includes('fr:{a:0}:b')) t.notOk(await mayRun('lab', elsewhere), `lab ${commandName(row)} elsewhere`)
      }
    })

    await t.test('and no others', async (t) => {
      for (const role of ROLES) {
        for (const row of COMMANDS.filter((row) => known(row) && !row.roles.includes(role))) {
          t.notOk(await mayRun(role, row.words('fr:{a:0}:b')), `${role} ${commandName(row)}`)
        }
      }
      for (const role of [...ROLES, 'library', 'lab']) {
        for (const words of [['FLUSHALL'], ['FLUSHDB'], ['KEYS', '*'], ['CONFIG', 'GET', '*'], ['CONFIG', 'SET', 'maxmemory', '1'],
          ['SHUTDOWN'], ['MONITOR'], ['DEBUG', 'SLEEP', '1'],
          ['REPLICAOF', 'NO', 'ONE'], ['ACL', 'LIST'], ['CLIENT', 'LIST'], ['CLIENT', 'PAUSE', '1'], ['SCRIPT', 'FLUSH'],
          ['RENAME', 'fr:a', 'fr:b'], ['SUBSCRIBE', 'fr:a'], ['SAVE']]) {
          t.notOk(await mayRun(role, words), `${role} ${words.join(' ')}`)
        }
      }
      t.notOk(await mayRun('library', ['SCAN', '0']))
      for (const words of [['SET', 'fr:a', 'v'], ['ZADD', 'fr:a', '1', 'm'], ['UNLINK', 'fr:a'], ['EVAL', 'return 1', '1', 'fr:a'],
        ['PEXPIRE', 'fr:a', '1']]) {
        t.notOk(await mayRun('reader', words), `reader ${words.join(' ')}`)
      }
    })

    /** Resets the command statistics of the servers. */
    const forget = () => Promise.all([control, onReplica].map((node) => node.send('CONFIG', 'RESETSTAT')))

    /**
     * Commands that ran since, in scripts too, without those of the test, of replication and of Valkey's script engine.
     * @param {boolean} [alsoReplica] @returns {Promise<string[]>}
     */
    async function seen (alsoReplica = false) {
      const nodes = alsoReplica ? [control, onReplica] : [control]
      const texts = await Promise.all(nodes.map((node) => node.send('INFO', 'commandstats')))
      const names = texts.flatMap((text) => [...String(text).matchAll(/^cmdstat_(\S+?):calls=(\d+)/gm)]
        .filter(([, , calls]) => calls !== '0').map(([, name]) => name.toUpperCase()))
      return [...new Set(names)].filter((name) => !/^(AUTH|CONFIG\|.*|SCRIPT\|FLUSH|REPLCONF|PSYNC)$/.test(name)).sort()
    }

    /** @param {import('../../src/store/commands.js').Role} role */
    const expected = (role) => rowsOf(role).filter((row) => known(row) && !row.isOfCluster).map(commandName).sort()

    const now = Date.now()

    await t.test('a writer sends exactly the commands of its rows', async (t) => {
      await forget()
      const value = Buffer.alloc(10)
      const write = async (/** @type {any} */ { isWithDeletion = true, ...options }, items = 20) => {
        const writer = await openWriterFor(t, { redisUrl: urlOf('writer'), ...options })
        for (let i = 0; i < items; i++) writer.pipeline.append(Buffer.from(`id-${i}`), now + i, value)
        if (isWithDeletion) writer.pipeline.remove(Buffer.from('id-1'), now + items)
        await writer.pipeline.flush()
        t.equal(writer.pipeline.account.items, items + (isWithDeletion ? 1 : 0))
        return writer
      }
      for (const ack of ['primary', 'replica']) {
        for (const layout of layoutNames()) await write({ feed: `${layout}-${ack}`, layout, ack })
      }
      for (const late of ['newest', 'overwrite']) {
        for (const windowMs of [0, 60_000]) {
          await write({ feed: `${late}-${windowMs}`, late, windowMs, isWithDeletion: false, batchItems: 1 })
        }
      }
      const trimmed = []
      for (const layout of layoutNames()) trimmed.push(await write({ feed: `few-${layout}`, layout, maxItems: 5 }))
      await control.send('SCRIPT', 'FLUSH')
      for (const writer of trimmed) {
        await eventually(() => {
          // logs trim entries from before the last round, and check items ahead of the clock
          writer.pipeline.append(Buffer.from('more'), Date.now() + 50, value)
          return writer.trimmed > 0
        })
      }
      for (const writer of trimmed) await writer.close({ drainMs: 1000 })

      const proxy = await startProxy(t, primary.port)
      const cut = await write({ redisUrl: urlOf('writer', proxy), feed: 'cut' })
      proxy.resetAll()
      await eventually(() => cut.connected && cut.sessions > 1)

      const ended = await startWriter(t, ['--items', '500', '--rate', '0'], { redisUrl: urlOf('writer') }).ended()
      t.match(ended.summary, { items: 500, nodes: [{ role: 'primary' }, { role: 'replica' }] }, ended.stderr)

      const gateway = await startGateway(t, { redisUrl: urlOf('writer'), flags: ['--read-from', 'primary'] })
      t.equal((await gateway.post('/v1/feeds/posted/items', [{ id: 'a', value: 1 }])).status, 200)
      t.equal((await gateway.remove('/v1/feeds/posted/items/a')).status, 200)
      await eventually(async () => (await seen()).includes('EXISTS'))
      const asJson = { 'content-type': 'application/json' }
      const put = (/** @type {object} */ fields) => gateway.send('PUT', '/v1/feeds/put', JSON.stringify(fields), asJson)
      t.match(await put({}), { status: 201, json: { windowMs: 60_000 } })
      t.match(await put({ windowMs: 3_600_000 }), { status: 503, json: { code: 'NOT_READY', detail: /the user may not run SCAN/i } })
      t.match(await put({ windowMs: 60_000 }), { status: 200, json: { windowMs: 60_000 } }, 'nothing was changed')
      t.match(await put({ windowMs: 1000 }), { status: 200, json: { windowMs: 1000 } }, 'the gateway is as before')
      const terms = { startPrice: 1, minIncrement: 1, closeAt: Date.now() + 600_000, currency: 'EUR' }
      t.equal((await gateway.send('PUT', '/v1/auctions/a', JSON.stringify(terms), asJson)).status, 201)
      await control.send('SCRIPT', 'FLUSH')
      t.equal((await gateway.send('POST', '/v1/auctions/a/bids', JSON.stringify({ userId: 'a', amount: 1 }), asJson)).status, 201)
      await eventually(async () => {
        const names = await seen()
        return ['EXISTS', 'EVAL_RO', 'EVALSHA_RO', 'HMGET', 'ROLE', 'HSET', 'HGETALL'].every((name) => names.includes(name))
      })
      // another program, or a call that ended between its writes, left the stream ahead of the state
      const events = admissionKey('fr:', 'auctions', partitionOf(Buffer.from('b'), 16), 16)('events:b')
      await control.send('XADD', events, '7-0', 'type', 'x')
      await control.send('XDEL', events, '7-0')
      t.equal((await gateway.send('PUT', '/v1/auctions/b', JSON.stringify(terms), asJson)).status, 201)
      const ahead = await gateway.send('POST', '/v1/auctions/b/bids', JSON.stringify({ userId: 'b', amount: 5 }), asJson)
      t.match(ahead, { status: 201, json: { seq: 8 } })
      await sellOut(gateway)
      // a writer removes its heartbeat when it closes
      await cut.close({ drainMs: 1000 })
      await eventually(async () => (await seen()).includes('HDEL'))
      await stopRule()
      t.same(await seen(), expected('writer'))
      t.equal(await gateway.service.stop(), 0)
    })

    await t.test('a reader sends exactly the commands of its rows', async (t) => {
      const deep = await openWriterFor(t, { redisUrl: primary.url, feed: 'deep', layout: 'segments' })
      for (let i = 0; i < 25_000; i++) deep.pipeline.append(Buffer.from(`id-${i}`), now, Buffer.from('v'))
      await deep.close({ drainMs: 10_000 })
      // the gateway above was refused a longer window
      await control.send('ACL', 'LOG', 'RESET')
      await forget()
      const served = await startReader(t, { redisUrl: urlOf('reader') })
      await eventually(async () => (await served.get('/v1/auctions/a')).json.bids === 1)
      const headers = { 'freshet-ticket': ticket }
      t.equal((await served.get(`/v1/sales/q/queue/${LAST}`, headers)).json.status, 'waiting')
      await served.get('/v1/sales/q/claims/none')
      t.equal(await served.service.stop(), 0)
      await stopFromReader()
      const reader = await openReader({ redisUrl: urlOf('reader'), views: 'none' })
      t.teardown(() => reader.close())
      await eventually(() => reader.status().ready)
      t.ok((await reader.feeds()).length >= 9)
      await eventually(async () => (await reader.feed('deep').count()).count > 20_000)
      for (const layout of layoutNames()) {
        const feed = reader.feed(`${layout}-primary`)
        const page = await feed.latest({ limit: 5 })
        t.equal(page.items.length, 5)
        t.equal((await feed.latest({ limit: 5, after: page.next })).items.length, 5)
        await onReplica.send('SCRIPT', 'FLUSH')
        t.equal((await feed.latest({ limit: 5, after: page.next })).items.length, 5)
        t.equal((await feed.since(now + 18)).items.length, 2)
        t.ok(await feed.get('id-2'))
        t.equal(await feed.get('id-1'), null, 'deleted')
        await feed.count()
        const stop = new AbortController()
        const changes = feed.subscribe({ signal: stop.signal, pollMs: 1 })
        const first = changes.next()
        const pusher = await openWriterFor(t, { redisUrl: primary.url, feed: `${layout}-primary`, layout })
        const push = setInterval(() => pusher.pipeline.append(Buffer.from('new'), Date.now(), Buffer.from('x')), 20)
        t.match(await first, { value: { id: 'new' } })
        clearInterval(push)
        stop.abort()
        await changes.return()
        await pusher.close({ drainMs: 5000 })
      }
      const viewing = await openReader({ redisUrl: urlOf('reader'), views: 'all' })
      t.teardown(() => viewing.close())
      for (const layout of layoutNames()) {
        t.equal((await viewing.feed(`${layout}-replica`).latest({ limit: 5 })).items.length, 5, `a view of ${layout}`)
      }
      const { get } = await startReader(t, { redisUrl: urlOf('reader') })
      await eventually(async () => (await get('/v1/feeds/deep/figures')).json.itemsPerSecond === 0)
      const all = await seen(true)
      t.same(expected('reader').filter((name) => !all.includes(name)), [], 'all of them were seen')
      const asked = [control, onReplica].map((node) => node.send('ACL', 'LOG'))
      t.same((await Promise.all(asked)).flat().length, 0, 'and nothing was refused')
    })

    await t.test('the doctor reports that the permissions of each user suffice', async (t) => {
      for (const role of /** @type {const} */ (['writer', 'reader', 'admin'])) {
        const ended = await endOfMain(['doctor', '--redis-url', urlOf(role)], { env })
        t.match(ended.stdout, new RegExp(`${role} +has all permissions`), ended.stdout)
        t.equal(ended.code, 0)
      }
    })

    await t.test('an admin sends exactly the commands of its rows', async (t) => {
      const filler = await openWriterFor(t, { redisUrl: primary.url, feed: 'large' })
      const filledAt = Date.now()
      for (let i = 0; i < 3000; i++) filler.pipeline.append(Buffer.from(`id-${i}`), filledAt + i % 2, Buffer.from('v'))
      await filler.close({ drainMs: 10_000 })
      await forget()
      const redisUrl = urlOf('admin')
      const run = async (/** @type {string[]} */ ...args) => {
        const ended = await endOfMain([...args, '--redis-url', redisUrl], { env })
        t.equal(ended.code, 0, `${args.join(' ')}: ${ended.stderr}`)
        return ended.stdout
      }
      t.match(await run('doctor'), /admin +has all permissions$/m)
      t.match(await run('feed', 'create', 'created'), /"created"/)
      t.match(await run('feed', 'list'), /"large"/)
      await run('feed', 'show', 'large')
      await run('feed', 'set', 'large', '--window-ms', '120000')
      await control.send('SCRIPT', 'FLUSH')
      await run('feed', 'set', 'large', '--window-ms', '0')
      t.match(await run('feed', 'drop', 'large'), /"dropped"/)
      t.same(await seen(), expected('admin'))
      t.equal(await control.send('EXISTS', 'fr:{large:0}:ids'), 0)
    })
  })
}
