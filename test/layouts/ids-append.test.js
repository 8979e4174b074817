/**
 * Layout `ids` with `late: newest`, values by MSETEX where the server has it: which batches go into a watched transaction, and what is
 * stored whatever happens between its steps. Two writers at once: races.test.js.
 */
import t from 'tap'
import { onlyKey } from '../../src/feeds/keys.js'
import { isAlone } from '../../src/layouts/ids-append.js'
import { newest } from '../../src/embedded/engine.js'
import { layoutOf } from '../../src/layouts/index.js'
import { readScript } from '../../src/store/scripts.js'
import { addTo, gone, item } from '../contract/partition.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { isNight, scoped, scopedEngines } from '../scope.js'
import { storedIn } from './stored.js'

const ids = layoutOf('ids')
const NOW = Date.now() - 10_000
const SCRIPTS = ['append-newest', 'mend-scores']
const sha = (/** @type {string} */ name) => readScript(name).sha

/** @typedef {import('../contract/model.js').Item} Item */
/** @typedef {import('../../src/store/index.js').Connection} Connection */

const engines = await scopedEngines()
for (const engine of engines) {
  const { hasMsetex } = engine
  const dialect = { msetex: hasMsetex, mayWatch: true, sha }
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine, args: ['--appendonly', 'yes', '--appendfsync', 'always'] })
    /** @type {Connection} */
    let admin
    const load = () => admin.sendAll(SCRIPTS.map((name) => ['SCRIPT', 'LOAD', readScript(name).body]))
    async function prepare () {
      admin = await connectFor(t, server.url)
      await load()
      await admin.send('ACL', 'SETUSER', 'writing', 'on', '>word', '~*', '+@all')
    }
    await prepare()
    const asWriter = () => connectFor(t, server.url.replace('//', '//writing:word@'))
    let feeds = 0

    /** A partition with a at NOW, written on a connection on which the next batch in order is watched. */
    async function open () {
      const key = onlyKey('fr:', `feed-${++feeds}`)
      const { connection, interrupt } = interruptible(await asWriter())
      const append = (/** @type {Item[]} */ items, /** @type {Connection} */ on = connection) => {
        const batch = ids.createBatch({ key, ttlMs: 60_000, late: 'newest', dialect })
        for (const one of items) addTo(batch, one)
        return ids.append(on, batch)
      }
      for (let n = 4; n >= 0; n--) await append([item('a', NOW - n)])
      t.ok(isAlone(connection))
      return {
        key,
        connection,
        append,
        interrupt,
        /** @param {Record<string, string>} wanted values by id */
        async holds (wanted, comment = '') {
          t.same(await storedIn(admin, key), { values: wanted, faults: [] }, comment)
        }
      }
    }

    await t.test('a batch that is newer than everything stored is watched, new ids and late batches too', async (t) => {
      const { key, append, holds } = await open()
      await admin.send('CONFIG', 'RESETSTAT')
      t.same(await append([item('a', NOW + 1), item('b', NOW + 1, 1), item('a', NOW + 2)]), { late: 0, form: 'watched' })
      t.notMatch(String(await admin.send('INFO', 'commandstats')), /cmdstat_zmscore/)
      await holds({ a: `a@${NOW + 2}`, b: `b@${NOW + 1}` })
      t.ok(await admin.send('PTTL', key('item:a')) > 0)
      await admin.send('DEL', key('item:a'))
      t.match(await append([item('a', NOW + 3)]), { form: 'watched' }, 'an item that has expired while its id is in the set')
      await holds({ a: `a@${NOW + 3}`, b: `b@${NOW + 1}` })
    })

    const misfits = /** @type {[string, Item[], number, Record<string, string>][]} */ ([
      ['an item that is late', [item('b', NOW + 1), item('a', NOW - 1)], 1, { a: `a@${NOW}`, b: `b@${NOW + 1}` }],
      ['an item that is as new as the newest', [item('a', NOW, 0, 'again')], 0, { a: 'again' }],
      ['items that are not in order', [item('b', NOW + 2), item('b', NOW + 1)], 1, { a: `a@${NOW}`, b: `b@${NOW + 2}` }],
      ['a deletion', [item('b', NOW + 1), gone('a', NOW + 2)], 0, { b: `b@${NOW + 1}` }]
    ])
    for (const [what, items, late, wanted] of misfits) {
      await t.test(`${what}: through the script, and the next batch too`, async (t) => {
        const { append, holds } = await open()
        t.match(await append(items), { late, form: 'script' })
        await holds(wanted)
        t.match(await append([item('c', NOW + 9)]), { form: 'script' })
      })
    }

    await t.test('while there are tombstones, an older version of a deleted id does not come back', async (t) => {
      const { connection, append, holds } = await open()
      const other = await asWriter()
      t.match(await append([gone('b', NOW + 9), gone('a', NOW + 9)], other), { late: 0 })
      await holds({})
      for (let n = 0; n < 9; n++) t.match(await append([item('b', NOW + n)]), { late: 1, form: 'script' })
      t.notOk(isAlone(connection))
      await holds({})
    })

    await t.test('when another writer was faster, nothing of the transaction is done', async (t) => {
      const { append, holds } = await open()
      t.match(await append([item('a', NOW + 1)]), { form: 'watched' }, 'and WATCH for the next one is in force')
      await append([item('a', NOW + 9), item('b', NOW + 9)], await asWriter())
      t.match(await append([item('a', NOW + 5), item('c', NOW + 10)]), { late: 1, form: 'script' })
      await holds({ a: `a@${NOW + 9}`, b: `b@${NOW + 9}`, c: `c@${NOW + 10}` })
    })

    await t.test('an item key that has expired at any index while its id is in the set, in both forms', async (t) => {
      for (const form of ['watched', 'script']) {
        for (const expired of ['a', 'b', 'c']) {
          const { key, append, holds } = await open()
          await append([item('b', NOW + 1), item('c', NOW + 2)])
          await admin.send('DEL', key(`item:${expired}`))
          const items = [item('a', NOW + 3), item('b', NOW + 4), item('c', NOW + 5)]
          t.match(await append(items, form === 'script' ? await asWriter() : undefined), { late: 0, form }, expired)
          await holds({ a: `a@${NOW + 3}`, b: `b@${NOW + 4}`, c: `c@${NOW + 5}` })
        }
      }
    })

    await t.test('items that maxItems removes between WATCH and the transaction', async (t) => {
      const { key, append, holds } = await open()
      await append([item('b', NOW + 1)])
      t.match(await ids.trim(admin, key, { retention: { windowMs: 0, maxItems: 1 }, nowMs: NOW }), { removed: 1 })
      t.match(await append([item('a', NOW + 5), item('b', NOW + 6)]), { late: 0, form: 'script' })
      await holds({ a: `a@${NOW + 5}`, b: `b@${NOW + 6}` })
    })

    await t.test('the more misses, the more batches go through the script before the next attempt', async (t) => {
      const { append } = await open()
      const shape = []
      for (let n = 1; n <= 40; n++) shape.push((await append([item('a', NOW + n), ...(n < 21 ? [item('a', NOW)] : [])])).form)
      t.equal(shape.lastIndexOf('script'), 35)
      t.same(shape.slice(36), new Array(4).fill('watched'))
    })

    await t.test('without a permission for WATCH, from the start or revoked, every batch goes through the script', async (t) => {
      const { connection, append, holds } = await open()
      t.match(await append([item('a', NOW + 1)]), { form: 'watched' })
      await admin.send('ACL', 'SETUSER', 'writing', '-watch')
      t.match(await append([item('a', NOW + 2)]), { form: 'watched' }, 'the last one under WATCH')
      await append([item('a', NOW + 9)], admin)
      for (let n = 3; n < 20; n++) t.match(await append([item('a', NOW + n - 1)]), { late: n <= 9 ? 1 : 0, form: 'script' })
      t.notOk(isAlone(connection))
      await holds({ a: `a@${NOW + 18}` })
      await admin.send('ACL', 'SETUSER', 'writing', '+watch')
    })

    const commands = ['WATCH', 'MULTI', ...(hasMsetex ? ['MSETEX'] : ['SET', 'SET']), 'ZADD', 'PEXPIRE', 'EVALSHA', 'XADD']
    const refusable = [hasMsetex ? 'msetex' : 'set', 'zadd', 'pexpire', 'evalsha', 'exec', 'zrevrange', 'pttl', '@all']
    const faults = /** @type {[string, () => Promise<unknown>, () => Promise<unknown>][]} */ ([
      ['SCRIPT FLUSH', () => admin.send('SCRIPT', 'FLUSH'), load],
      ['no memory', () => admin.send('CONFIG', 'SET', 'maxmemory', '1'), () => admin.send('CONFIG', 'SET', 'maxmemory', '0')],
      ...refusable.map((name) => /** @type {any} */ ([
        `-${name}`, () => admin.send('ACL', 'SETUSER', 'writing', `-${name}`), () => admin.send('ACL', 'SETUSER', 'writing', '+@all')
      ]))
    ])
    for (const [n, [what, begin, end]] of faults.entries()) {
      await t.test(`${what} behind any command: each score has its value, and the batch can be sent again`, async (t) => {
        for (const [after, command] of commands.entries()) {
          // by day the newest engine has all pairs, the other one half of them
          if (!isNight && engine !== newest(engines) && (after + n) % 2 === 1) continue
          const { key, append, interrupt, holds } = await open()
          const happened = interrupt(after, begin)
          const failed = await append([item('a', NOW + 5), item('b', NOW + 6)]).then(() => false, () => true)
          await happened
          await end()
          const { values, faults } = await storedIn(admin, key)
          // without ZADD a value is newer than its score: readers go by the value
          if (what !== '-zadd') t.same(faults, [], `behind ${command}`)
          t.ok([`a@${NOW}`, `a@${NOW + 5}`].includes(values.a), values.a)
          if (!failed) t.equal(values.a, `a@${NOW + 5}`)
          t.match(await append([item('a', NOW + 5), item('b', NOW + 6)], await asWriter()), { late: 0 })
          await holds({ a: `a@${NOW + 5}`, b: `b@${NOW + 6}` })
        }
      })
    }

    const ends = /** @type {[string, (connection: Connection) => Promise<void>][]} */ ([
      ['a connection that ends', async (connection) => { connection.close() }],
      ['a server that is killed', async () => {
        await server.kill()
        await server.restart()
        await prepare()
      }]
    ])
    for (const [what, end] of scoped(ends, ends.slice(0, 1))) {
      await t.test(`${what} behind any command leaves the batch stored as a whole, or not at all`, async (t) => {
        for (let after = 0; after <= commands.length; after++) {
          const { key, connection, append, interrupt, holds } = await open()
          interrupt(after, () => end(connection))
          await t.rejects(append([item('a', NOW + 5), item('b', NOW + 6)]))
          const values = after < commands.length ? { a: `a@${NOW}` } : { a: `a@${NOW + 5}`, b: `b@${NOW + 6}` }
          t.same(await storedIn(admin, key), { values, faults: [] }, `behind ${commands[after] ?? 'EXEC'}`)
          t.match(await append([item('a', NOW + 5), item('b', NOW + 6)], await asWriter()), { late: 0 })
          await holds({ a: `a@${NOW + 5}`, b: `b@${NOW + 6}` })
        }
      })
    }
  })
}

/**
 * A connection on which something happens in the middle of the next transaction. What is sent in the meantime waits.
 * @param {Connection} inner not checked
 */
function interruptible (inner) {
  /** @type {Promise<unknown>} */
  let gate = Promise.resolve()
  /** @type {{ after: number, meanwhile: () => Promise<unknown>, done: () => void } | null} */
  let interruption = null
  const later = (/** @type {'send' | 'sendDispensable' | 'sendEncoded'} */ name) => async (/** @type {any[]} */ ...words) => {
    await gate
    return /** @type {any} */ (inner)[name](...words)
  }

  /** @param {{ bytes: Buffer, replies: number }} encoded @param {NonNullable<typeof interruption>} of */
  async function sendInterrupted ({ bytes }, { after, meanwhile, done }) {
    const pieces = piecesOf(bytes)
    const send = (/** @type {Buffer[]} */ some) => inner.sendEncoded({ bytes: Buffer.concat(some), replies: some.length })
    if (after > 0) await send(pieces.slice(0, after)).catch(() => {})
    await meanwhile()
    done()
    // errors inside the reply to EXEC are found where it is one of several
    await send([...pieces.slice(after), Buffer.from('*2\r\n$4\r\nECHO\r\n$1\r\n.\r\n')])
    return []
  }
  const connection = /** @type {Connection} */ ({
    ...inner,
    send: later('send'),
    sendDispensable: later('sendDispensable'),
    sendEncoded (encoded) {
      const of = interruption
      if (of === null || !encoded.bytes.includes(sha('mend-scores'))) return later('sendEncoded')(encoded)
      interruption = null
      const stored = sendInterrupted(encoded, of)
      gate = stored.catch(() => {})
      return stored
    }
  })
  return {
    connection,
    /**
     * @param {number} after commands of the transaction @param {() => Promise<unknown>} meanwhile
     * @returns {Promise<void>} when it has happened
     */
    interrupt: (after, meanwhile) => new Promise((resolve) => { interruption = { after, meanwhile, done: resolve } })
  }
}

/** Commands, each with its bytes. @param {Buffer} bytes @returns {Buffer[]} */
function piecesOf (bytes) {
  const starts = [...bytes.toString('latin1').matchAll(/\*\d+\r\n\$\d+\r\n[A-Z]+\r\n/g)].map(({ index }) => index)
  return starts.map((from, i) => bytes.subarray(from, starts[i + 1]))
}
