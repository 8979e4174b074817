import t from 'tap'
import { BEFORE_FIRST, compareEntryIds, entriesAfter, entriesBefore, newestEntryId } from '../../src/layouts/log.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const shown = (/** @type {import('../../src/layouts/log.js').LogEntry[]} */ entries) =>
  entries.map(({ entryId, ms, bytes }) => `${entryId} ${ms} ${bytes}`)

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })
    const connection = await connectFor(t, server.url)
    for (const [name, entryId] of [['a', '7-1'], ['a', '7-2'], ['a', '10-0'], ['c', '8-0']]) {
      await connection.send('XADD', name, entryId, 's', `${name} at ${entryId}`)
    }

    await t.test('entries behind an id come by key, in order of arrival, keys without any among them', async (t) => {
      const from = ['none', 'a', 'empty', 'c'].map((name) => ({ name, after: BEFORE_FIRST }))
      t.same((await entriesAfter(connection, from, { count: 2 })).map(shown),
        [[], ['7-1 7 a at 7-1', '7-2 7 a at 7-2'], [], ['8-0 8 c at 8-0']])
      t.same((await entriesAfter(connection, [{ name: 'a', after: '7-2' }], { count: 10 })).map(shown), [['10-0 10 a at 10-0']])
      t.same(await entriesAfter(connection, [{ name: 'a', after: '10-0' }, { name: 'none', after: BEFORE_FIRST }], { count: 10 }), [[], []])
    })

    await t.test('a blocking read waits for an entry, at most as long as given', async (t) => {
      const waiting = await connectFor(t, server.url)
      t.same(await entriesAfter(waiting, [{ name: 'a', after: '10-0' }], { count: 10, blockMs: 20 }), [[]])
      const next = entriesAfter(waiting, [{ name: 'a', after: '10-0' }], { count: 10, blockMs: 15_000 })
      await connection.send('XADD', 'a', '11-0', 's', 'new')
      t.same((await next).map(shown), [['11-0 11 new']])
      // the first key has none, so its wait is over before the second is asked
      const both = [{ name: 'none', after: BEFORE_FIRST }, { name: 'a', after: '10-0' }]
      t.same((await entriesAfter(waiting, both, { count: 10, blockMs: 20 })).map(shown), [[], ['11-0 11 new']])
      await connection.send('XDEL', 'a', '11-0')
    })

    await t.test('entries before an id come newest first', async (t) => {
      t.same(shown(await entriesBefore(connection, 'a', { before: null, count: 2 })), ['10-0 10 a at 10-0', '7-2 7 a at 7-2'])
      t.same(shown(await entriesBefore(connection, 'a', { before: '7-2', count: 2 })), ['7-1 7 a at 7-1'])
      t.same(await entriesBefore(connection, 'a', { before: '7-1', count: 2 }), [])
      t.same(await entriesBefore(connection, 'none', { before: null, count: 2 }), [])
      t.equal(await newestEntryId(connection, 'a'), '10-0')
      t.equal(await newestEntryId(connection, 'none'), BEFORE_FIRST)
    })

    await t.test('a key of another type has a code', async (t) => {
      await connection.send('SET', 'text', 'mine')
      await t.rejects(entriesAfter(connection, [{ name: 'a', after: BEFORE_FIRST }, { name: 'text', after: BEFORE_FIRST }], { count: 1 }),
        { code: 'KEY_HOLDS_OTHER' })
      await t.rejects(entriesBefore(connection, 'text', { before: null, count: 1 }), { code: 'KEY_HOLDS_OTHER' })
    })
  })
}

t.test('entry ids compare as numbers', async (t) => {
  const entryIds = ['1750000000000-10', '9-9', '10-0', '1750000000000-9', '0-0']
  t.same(entryIds.toSorted(compareEntryIds), ['0-0', '9-9', '10-0', '1750000000000-9', '1750000000000-10'])
})
