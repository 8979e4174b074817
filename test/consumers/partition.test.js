/** A partition whose lease ends while its work begins, and while a batch is under way. */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { consume, consumeBatches, createOutboxReader } from '../../src/consumers/index.js'
import { eventually, silentLog } from '../servers.js'

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
    reader: { follow: (/** @type {number} */ partition) => followed.push(partition) },
    metrics: { finished () {}, failed () {} },
    deadLetter: async () => {}
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

/** A server with an outbox of one partition, on which each script succeeds. */
function createOutbox () {
  /** @type {string[]} */
  const ids = []
  const connection = {
    async send (/** @type {string} */ name, /** @type {any[]} */ ...words) {
      if (name !== 'XREAD') return null
      const position = words.at(-1)
      const entries = ids.filter((id) => parseInt(id) > parseInt(position)).map((id) => [id, ['rule', 'r', 'key', 'k', 'seq', '1']])
      await pause(1)
      return entries.length > 0 ? [['outbox', entries]] : null
    },
    runScript: async () => 1
  }
  const open = async () => /** @type {any} */ ({ connection, end () {} })
  const reader = createOutboxReader({ open, isSpread: () => true, keyOf: () => (part) => part, log: silentLog })
  return { ids, connection, reader }
}

t.test('a batch of an ended lease that fails late does not end what follows the partition since', async (t) => {
  const { ids, connection, reader } = createOutbox()
  t.teardown(() => reader.close())
  /** @param {number} token @param {AbortSignal} signal @param {(entries: any[]) => Promise<void>} write */
  const own = (token, signal, write) => consumeBatches(/** @type {any} */ ({
    owned: { partition: 3, token, signal },
    connection: () => connection,
    key: (/** @type {string} */ part) => part,
    reader,
    metrics: { finished () {}, failed () {} },
    deadLetter: async () => {},
    effect: { name: 'effect', write }
  }))
  const [first, second] = [new AbortController(), new AbortController()]
  ids.push('1-0')
  /** @type {((error: Error) => void) | null} */
  let fail = null
  const ended = own(1, first.signal, () => new Promise((_resolve, reject) => { fail = reject }))
  await eventually(() => fail !== null)
  first.abort()
  await ended

  /** @type {string[]} */
  const written = []
  const last = own(2, second.signal, async (entries) => { written.push(...entries.map(({ id }) => id)) })
  await eventually(() => written.length === 1)
  const failLate = /** @type {any} */ (fail)
  failLate(new Error('late'))
  await pause(20)
  ids.push('2-0')
  await eventually(() => written.length === 2)
  t.same(written, ids)
  second.abort()
  await last
})
