/** Many keys of a user's system in the memory of a reader: the least recently used make room, and each is answered. */
import t from 'tap'
import { admissionKey, createKeyView, memoryOf } from '../../src/admission/index.js'
import { openerOf } from '../../src/store/index.js'
import { silent } from '../../lab/systems/auctions/silent.js'
import { nightly } from '../../test/scope.js'
import { connectFor, eventually } from '../../test/servers.js'
import { sharedDeployment } from '../../test/shared.js'
import { openSeats, SEAT } from '../../test/systems/seats.js'

const KEYS = nightly(100_000, 15_000)
const MOST = 10_000
const PIECE = 500

t.test('a view of them', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const connection = await connectFor(t, redisUrl)
  const { submit } = await openSeats(t, { redisUrl, keyPrefix, partitions: 1 })
  await submit('warm', 'hold', 'ann')
  const keyOf = () => admissionKey(keyPrefix, 'seats', 0)
  const view = createKeyView({
    ...openerOf(redisUrl, { name: 'test-view', deadlineMs: 10_000 }),
    connectionOf: () => connection,
    keyOf,
    partitionOf: () => 0,
    partitions: 1,
    rules: memoryOf({ seat: { text: SEAT, version: 1, fold: (state, { holder }) => ({ ...state, holder }) } }),
    log: silent
  })
  t.teardown(() => view.close())
  await eventually(() => view.follower.ageMs(0) < Infinity)
  const names = Array.from({ length: KEYS }, (_, i) => `key-${i}`)
  for (let i = 0; i < KEYS; i += PIECE) {
    const some = names.slice(i, i + PIECE)
    await connection.sendAll(some.map((key) => ['HSET', keyOf()(`state:${key}`), '@seq', 1, '@version', 1, 'note', key]))
    const found = await Promise.all(some.map((key) => view.get(key)))
    const wrong = found.filter((one, n) => one?.fields.note !== some[n])
    if (wrong.length > 0) t.fail(`${wrong.length} of ${some[0]} and later`)
  }
  const kept = names.filter((key) => view.peek(key))
  t.ok(kept.length <= MOST && kept.length > MOST / 2, `${kept.length} in memory`)
  t.same(kept, names.slice(-kept.length), 'those that were used last')
  t.match(await view.get(names[0]), { fields: { note: names[0] } }, 'the others are read again')
  const last = names[KEYS - 1]
  await submit(last, 'hold', 'bob')
  await eventually(() => view.peek(last)?.fields.holder === 'bob')
})
