/** The entry of a log of arrivals: its bytes, and how many it has for each arrival. */
import t from 'tap'
import { eachVersion, segmentHead } from '../../src/item/segment.js'
import { createOrigin } from '../../src/layouts/log-origin.js'
import { layoutOf } from '../../src/layouts/index.js'
import { onlyKey } from '../../src/feeds/keys.js'
import { commandsIn } from './resp.js'

const TS = 1_700_000_000_123
const dialect = { msetex: true, sha: String }

/** @param {'ids' | 'values'} layout @param {(batch: import('../../src/layouts/index.js').Batch) => void} fill */
function entryOf (layout, fill) {
  const batch = layoutOf(layout).createBatch({
    key: onlyKey('fr:', 'latest'), ttlMs: 0, late: 'newest', dialect, clock: () => TS, origin: createOrigin({ name: 'w', epoch: 7 })
  })
  fill(batch)
  const entry = () => Buffer.from(String(commandsIn(batch.encoded().bytes).find(([name]) => name === 'XADD')?.[7]), 'latin1')
  return { batch, entry }
}

for (const layout of /** @type {const} */ (['ids', 'values'])) {
  t.test(`${layout}: an entry names what the batch brought, deletions included, and is the same when it is sent again`, async (t) => {
    const { batch, entry } = entryOf(layout, (one) => {
      one.add(Buffer.from('a'), TS, 5, Buffer.from('value'))
      one.remove(Buffer.from('b'), TS + 1, 0)
      one.add(Buffer.from('late'), 7, 4095, Buffer.from('x'))
    })
    /** @type {unknown[]} */
    const named = []
    const bytes = entry()
    eachVersion(bytes, (from, idAt, idEnd, ts, seq, deleted, valueAt, valueEnd) => {
      named.push([from.toString('utf8', idAt, idEnd), ts, seq, deleted, valueEnd - valueAt])
    })
    t.same(named, [['a', TS, 5, false, 0], ['b', TS + 1, 0, true, 0], ['late', 7, 4095, false, 0]])
    t.match(segmentHead(bytes), { count: 3, firstTs: 7, lastTs: TS + 1 })
    t.equal(bytes.subarray(59).toString('hex'),
      '018bcfe5687b0050' + '01' + '61' + '018bcfe5687c0001' + '01' + '62' + '000000000007fff0' + '04' + '6c617465')
    t.same(entry(), bytes)
    batch.log?.refused()
    t.not(segmentHead(entry()).origin, segmentHead(bytes).origin, 'a batch that was refused has another number')
  })

  t.test(`${layout}: id and 12 bytes for an arrival at most, in batches of 50 and more`, async (t) => {
    for (const count of [50, 250, 996]) {
      const { entry } = entryOf(layout, (one) => {
        for (let n = 0; n < count; n++) one.add(Buffer.from(String(n).padStart(20, '0')), TS, n, Buffer.alloc(128))
      })
      // 40 of the stream for an entry
      const each = (entry().length + 40) / count
      t.ok(each <= 20 + 12, `${each} bytes for each of ${count}`)
    }
  })

  t.test(`${layout}: a damaged entry is refused as a whole`, async (t) => {
    const { entry } = entryOf(layout, (one) => one.add(Buffer.from('abc'), TS, 0, Buffer.from('v')))
    const good = entry()
    for (let at = 0; at < good.length; at++) {
      const bad = Buffer.from(good)
      bad[at] ^= 0x10
      t.throws(() => eachVersion(bad, () => t.fail('visited')), { code: /^SEGMENT_(INVALID|VERSION)$/ }, `byte ${at}`)
    }
    t.throws(() => eachVersion(good.subarray(0, -1), () => t.fail('visited')), { code: 'SEGMENT_INVALID' })
  })
}
