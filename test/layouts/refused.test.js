/** Layout `ids` through the script: a server that refuses one of its commands has stored the whole batch, or nothing. */
import t from 'tap'
import { onlyKey } from '../../src/feeds/keys.js'
import { layoutOf } from '../../src/layouts/index.js'
import { readScript } from '../../src/store/scripts.js'
import { addTo, gone, item } from '../contract/partition.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { storedIn } from './stored.js'

const ids = layoutOf('ids')
// of the future, so that only the batch with a deletion is a transaction with a mark
const NOW = Date.now() + 3_600_000
const COMMANDS = ['zcard', 'zadd', 'pexpire', 'pttl', 'zmscore', 'getrange', 'set', 'zrem', 'msetex', 'evalsha', 'xadd']
/** @type {Record<string, [import('../contract/model.js').Item[], Record<string, string>]>} what is stored then */
const BATCHES = {
  'in order': [[item('b', NOW + 2), item('a', NOW + 3)], { b: `b@${NOW + 2}`, a: `a@${NOW + 3}`, c: `c@${NOW + 1}` }],
  'with a late item': [
    [item('b', NOW + 2), item('a', NOW + 3), item('c', NOW)], { b: `b@${NOW + 2}`, a: `a@${NOW + 3}`, c: `c@${NOW + 1}` }
  ],
  'with a deletion': [[item('b', NOW + 2), gone('a', NOW + 3)], { b: `b@${NOW + 2}`, c: `c@${NOW + 1}` }]
}

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })
    const admin = await connectFor(t, server.url)
    const body = readScript('append-newest').body
    await admin.send('SCRIPT', 'LOAD', body)
    await admin.send('ACL', 'SETUSER', 'writing', 'on', '>word', '~*', '+@all')
    const writer = await connectFor(t, server.url.replace('//', '//writing:word@'))
    const dialect = { msetex: engine.hasMsetex, sha: (/** @type {string} */ name) => readScript(name).sha }
    let feeds = 0

    const faults = /** @type {[string, [string, ...string[]], [string, ...string[]]][]} */ ([
      ['SCRIPT FLUSH', ['SCRIPT', 'FLUSH'], ['SCRIPT', 'LOAD', body]],
      ['no memory', ['CONFIG', 'SET', 'maxmemory', '1'], ['CONFIG', 'SET', 'maxmemory', '0']],
      ...COMMANDS.filter((name) => name !== 'msetex' || engine.hasMsetex).map((name) =>
        [`-${name}`, ['ACL', 'SETUSER', 'writing', `-${name}`], ['ACL', 'SETUSER', 'writing', '+@all']])
    ])
    for (const [what, begin, end] of faults) {
      await t.test(what, async (t) => {
        for (const [kind, [items, wanted]] of Object.entries(BATCHES)) {
          const key = onlyKey('fr:', `feed-${++feeds}`)
          const append = (/** @type {typeof items} */ some) => {
            const batch = ids.createBatch({ key, ttlMs: 60_000, late: 'newest', dialect })
            for (const one of some) addTo(batch, one)
            return ids.append(writer, batch)
          }
          await append([item('a', NOW), item('c', NOW + 1)])
          await admin.send(...begin)
          const isStored = await append(items).then(() => true, () => false)
          const found = await storedIn(admin, key)
          await admin.send(...end)
          t.same(found, { values: isStored ? wanted : { a: `a@${NOW}`, c: `c@${NOW + 1}` }, faults: [] }, kind)
          await append(items)
          t.same(await storedIn(admin, key), { values: wanted, faults: [] }, `${kind}, sent again`)
        }
      })
    }
  })
}
