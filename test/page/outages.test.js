/** When servers were unreachable, computed from the history of figures. */
import t from 'tap'
import { outagesOf, outagesText } from '../../readers/page/outages.js'

const A = 'a:1'
const B = 'b:2'

/** A sample each second. @param {...Record<string, number | null>} cpus @returns {any[]} */
const historyOf = (...cpus) => cpus.map((cpu, i) => ({ at: i * 1000, itemsPerSecond: 1, lagMs: 0, cpu }))

t.test('an outage lasts from the first missing sample of a server to its next one', async (t) => {
  const up = { [A]: 0.1, [B]: 0 }
  t.same(outagesOf(historyOf(up, up, up)), [])
  t.same(outagesOf(historyOf(up, { [A]: 0.1, [B]: null }, { [A]: 0.1 }, { [A]: 0.1 }, up)), [{ address: B, from: 1000, to: 4000 }])
  t.same(outagesOf(historyOf(up, { [A]: 0.1 }, { [A]: 0.1 })), [{ address: B, from: 1000, to: null }])
  t.same(outagesOf(historyOf(up, { [B]: 0 }, { [B]: 0 }, up, { [A]: 0.1 }, { [A]: 0.1 })),
    [{ address: A, from: 1000, to: 3000 }, { address: B, from: 4000, to: null }])
})

t.test('samples that are late on a busy machine, and servers that are new, are no outages', async (t) => {
  const up = { [A]: 0.1, [B]: 0 }
  const none = { [A]: null, [B]: null }
  t.same(outagesOf(historyOf(up, none, none, none, up, {}, up)), [], 'no server replied in time')
  t.same(outagesOf(historyOf(up, { [A]: 0.1, [B]: null }, up, { [A]: 0.1, [B]: null }, up)), [], 'single samples')
  t.same(outagesOf(historyOf(none, { [A]: 0.1, [B]: null }, { [A]: 0.1, [B]: null }, up)), [])
  t.same(outagesOf([]), [])
})

t.test('the last outages are described', async (t) => {
  const outage = (/** @type {number} */ from, /** @type {number | null} */ to) => ({ address: A, from, to })
  t.equal(outagesText([], () => 'primary'), '')
  t.match(outagesText([outage(0, null)], () => 'primary'), /^Servers: primary a:1 has been unreachable since \d\d:\d\d:\d\d\.$/)
  t.match(outagesText([1, 2, 3, 4, 5].map((n) => outage(n, n + 1)), () => 'replica'), /^Servers: 2 earlier; (replica a:1 was unreachable from \S+ to \S+[;.] ?){3}$/)
})

t.test('a server is named by the role that it had when its outage began', async (t) => {
  const roleOf = (/** @type {string} */ _address, /** @type {number} */ atMs) => atMs < 2000 ? 'primary' : 'replica'
  t.match(outagesText([{ address: A, from: 1000, to: 3000 }, { address: A, from: 4000, to: null }], roleOf),
    /^Servers: primary a:1 was unreachable from \S+ to \S+; replica a:1 has been unreachable since/)
})
