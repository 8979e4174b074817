/** Partitions answer as one: in order, and little more is read from each than a page needs. */
import t from 'tap'
import { partitionOf } from '../../src/item/id.js'
import { createPartitionedStore } from '../../src/view/view.js'
import { createViewStore } from '../../src/view/store/index.js'

const ITEMS = 100_000
const PARTITIONS = 3
const PAGE = 350
const NOW = 1_750_000_000_000

t.test('page after page: every item once, newest first, and little more is read from the partitions', async (t) => {
  let taken = 0
  const stores = Array.from({ length: PARTITIONS }, () => {
    const store = createViewStore({ windowMs: 0, maxItems: 0, boundItems: ITEMS, boundBytes: 2 ** 30 })
    const { latest } = store
    store.latest = (question, visit) => latest.call(store, question, (...item) => {
      taken++
      return visit(...item)
    })
    return store
  })
  for (let n = 0; n < ITEMS; n++) {
    const bytes = Buffer.from(`id-${n}v`)
    stores[partitionOf(bytes.subarray(0, -1), PARTITIONS)].put(bytes, 0, bytes.length - 1, NOW - n, 0, 0, false, bytes.length - 1,
      bytes.length, n)
  }
  const partitions = createPartitionedStore(stores)
  let seen = 0
  let wrong = 0
  /** @type {any} */
  let after = null
  do {
    let inPage = 0
    const page = partitions.latest({ limit: ITEMS, after, sinceMs: null, nowMs: NOW }, (_bytes, _idAt, _idEnd, ts) => {
      if (ts !== NOW - seen++) wrong++
      return ++inPage < PAGE
    })
    after = page.next
  } while (after !== null)
  t.equal(seen, ITEMS)
  t.equal(wrong, 0)
  t.ok(taken < 6 * ITEMS, `${taken} were taken out for ${ITEMS}`)
})
