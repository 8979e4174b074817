/** The floor of maxItems where ids have many versions: asked each second, and at once where the store shows what is superseded. */
import t from 'tap'
import { layoutOf } from '../../src/layouts/index.js'
import { createArrivalsNewer, createPut } from '../../src/view/arrivals-newer.js'
import { newPart } from '../../src/view/log-partition.js'
import { createViewStore } from '../../src/view/store/index.js'

const RETENTION = { windowMs: 0, maxItems: 2 }
const ID = Buffer.from('a')
const OTHER = Buffer.from('b')
const THIRD = Buffer.from('c')
const VALUE = Buffer.from('value')

/** @typedef {import('../../src/layouts/index.js').Arrival} Arrival */

/** A part that reads single arrivals; `stored` are the versions that the server has. */
function openPart () {
  /** @type {import('../../src/layouts/index.js').StoredVersion[]} */
  const stored = []
  const of = { floorMs: 0, asked: 0 }
  /** @type {Arrival[]} */
  let arrived = []
  const values = layoutOf('values')
  const log = /** @type {import('../../src/layouts/log.js').Log} */ (values.arrivals)
  const layout = {
    ...values,
    arrivals: {
      ...log,
      /** @type {typeof log.each} */
      each: (_bytes, visit) => {
        for (const { id, ts, seq, deleted } of arrived) visit(id, 0, id.length, ts, seq, deleted, 0, 0)
        return arrived.length
      }
    },
    versionsAt: async (/** @type {any} */ _connection, /** @type {any} */ _key, /** @type {Arrival[]} */ wanted) =>
      wanted.map(({ id, ts }) => stored.find((version) => version.id.equals(id) && version.ts === ts) ?? null),
    floor: async () => {
      of.asked++
      return { id: ID, ts: of.floorMs, seq: 0, stamp: 0 }
    }
  }
  const store = createViewStore({ windowMs: 0, maxItems: 0, boundItems: 100, boundBytes: 2 ** 20 })
  const part = newPart(log, String, store)
  const newer = createArrivalsNewer(/** @type {any} */ ({
    layout,
    key: String,
    part,
    put: createPut(layout, store),
    older: { refill: () => {} },
    size: { learn: () => {} },
    intake: { isOver: () => false },
    retention: () => RETENTION,
    now: Date.now
  }))
  let entries = 0

  /** @param {Arrival[]} arrivals @param {boolean} isFull */
  function takeOf (arrivals, isFull) {
    arrived = arrivals
    const found = arrivals.length > 0 ? [{ entryId: `${++entries}-0`, bytes: ID }] : []
    return newer.take(/** @type {any} */ (found), /** @type {any} */ ({}), isFull)
  }

  return {
    of,
    /** @param {Buffer} id @param {number} ts */
    store: (id, ts) => { stored.push({ id, ts, seq: 0, stamp: 0, deleted: false, value: VALUE }) },
    /** @param {Arrival[]} arrivals */
    take: (...arrivals) => takeOf(arrivals, false),
    /** There may be more. @param {Arrival[]} arrivals */
    takeFull: (...arrivals) => takeOf(arrivals, true),
    tsOf: (/** @type {Buffer} */ id) => store.get(id, 0)?.ts ?? null
  }
}

/** @param {Buffer} id @param {number} ts @returns {Arrival} */
const arrival = (id, ts) => ({ id, ts, seq: 0, deleted: false })

t.test('a version that was trimmed before it was read takes the older one of its id with it at once', async (t) => {
  const { of, store, take, takeFull, tsOf } = openPart()
  store(ID, 1)
  store(OTHER, 1)
  store(THIRD, 5)
  await take(arrival(ID, 1), arrival(OTHER, 1), arrival(THIRD, 5))
  t.same([tsOf(ID), tsOf(OTHER), tsOf(THIRD), of.asked], [1, 1, 5, 1])
  await take()
  of.floorMs = 3
  await take(arrival(ID, 2))
  t.same([tsOf(ID), of.asked], [null, 2], 'asked within the second, before the view counts as current')
  t.equal(tsOf(OTHER), 1, 'what is the newest of its id waits until what came before the floor has been read')
  await takeFull(arrival(OTHER, 2))
  t.same([tsOf(OTHER), of.asked], [null, 3], 'also while there are entries that are not read')
  await take()
  t.same([tsOf(ID), tsOf(OTHER), tsOf(THIRD), of.asked], [null, null, 5, 3])
})

t.test('the entry of a batch that the server refused takes nothing with it', async (t) => {
  const { of, store, take, tsOf } = openPart()
  store(ID, 4)
  of.floorMs = 3
  await take(arrival(ID, 4))
  await take(arrival(ID, 5))
  await take()
  t.same([tsOf(ID), of.asked], [4, 2], 'it is above the floor')
})

t.test('what hides nothing is not asked for', async (t) => {
  const { of, store, take, tsOf } = openPart()
  store(ID, 5)
  await take(arrival(ID, 5))
  await take(arrival(ID, 4), arrival(OTHER, 2))
  t.same([tsOf(ID), of.asked], [5, 1], 'older than what is shown, or of an id that is not shown')
})

t.test('a floor takes effect when all that came before it has been read', async (t) => {
  const { of, store, take, takeFull, tsOf } = openPart()
  store(ID, 1)
  of.floorMs = 3
  await take(arrival(ID, 1))
  await takeFull()
  t.same([tsOf(ID), of.asked], [1, 1])
  store(ID, 4)
  await take(arrival(ID, 4))
  t.same([tsOf(ID), of.asked], [4, 1])
})
