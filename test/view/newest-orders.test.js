/** The orders of newest versions: their bound holds whatever they are. */
import t from 'tap'
import { layoutOf } from '../../src/layouts/index.js'
import { createNewestOrders } from '../../src/view/newest-orders.js'

const NOW = 1_790_000_000_000
const MAX_IDS = 1000

for (const [title, tsOf] of /** @type {[string, (n: number) => number][]} */ ([
  ['rising', (n) => NOW + n], ['falling', (n) => NOW - n], ['the same', () => NOW], ['two of them', (n) => NOW + n % 2]
])) {
  t.test(`ids are bounded when their orders are ${title}`, async (t) => {
    const orders = createNewestOrders({
      layout: layoutOf('values'), key: (part) => part, windowMs: () => 0, now: () => NOW, maxIds: MAX_IDS, maxBytes: 2 ** 30
    })
    let most = 0
    for (let n = 0; n < 10_000; n++) {
      orders.note({ id: Buffer.from(`id-${n}`), ts: tsOf(n), seq: 0, value: Buffer.alloc(0) })
      most = Math.max(most, orders.ids)
    }
    t.ok(most <= MAX_IDS + 1, `${most} ids`)
  })
}
