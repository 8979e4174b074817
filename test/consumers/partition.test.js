/** A partition whose lease ends while its work begins. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { consume, consumeBatches } from '../../src/consumers/index.js'

/** A place of a partition whose lease ends before the reply to `HGET` of the cursor comes. */
function createPlace () {
  const lease = new AbortController()
  /** @type {number[]} */
  const followed = []
  const connection = {
    async send () {
      lease.abort()
      return null
    },
    runScript: async () => 1
  }
  const place = /** @type {any} */ ({
    owned: { partition: 3, token: 1, signal: lease.signal },
    connection: () => connection,
    key: (/** @type {string} */ part) => part,
    reader: { follow: (/** @type {number} */ partition) => followed.push(partition), leave () {} },
    metrics: { finished () {}, failed () {} },
    bury: async () => {}
  })
  return { place, followed }
}

const effect = { name: 'effect', write: async () => {} }
const database = /** @type {any} */ ({ query: async () => ({ rows: [], rowCount: 1 }) })

for (const [name, begin] of /** @type {[string, (place: any) => Promise<void>][]} */ ([
  ['rows', (place) => consume({ ...place, system: 'orders', effect, database })],
  ['batches', (place) => consumeBatches({ ...place, effect })]
])) {
  t.test(`${name}: a lease that ends while the cursor is read ends the work, so that the partition can be taken again`, async (t) => {
    const { place, followed } = createPlace()
    const hasEnded = begin(place).then(() => true)
    t.equal(await Promise.race([hasEnded, pause(1000, false)]), true)
    t.same(followed, [], 'no entry is read')
  })
}
