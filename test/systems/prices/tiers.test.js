import t from 'tap'
import { resolve } from '../../../settings.js'
import { timesOf } from '../../../src/systems/prices/index.js'

const KNOWN = { command: 'gateway', layouts: ['ids'], acks: ['primary'] }
const times = (/** @type {string[]} */ ...argv) => timesOf(/** @type {any} */ (resolve(argv, {}, KNOWN)).tiers)

t.test('times of tiers are ms, hot first, those of the default too', async (t) => {
  t.equal(times(), '5000 10000 60000 30000 60000 300000 300000 600000 1800000')
  t.equal(times('--tiers', 'cold=6/9/12.5,hot=0.5/1/2,medium=1/2/3'), '500 1000 2000 1000 2000 3000 6000 9000 12500')
})

t.test('tiers that are incomplete, or whose times do not rise, are refused', async (t) => {
  const others = 'medium=1/2/3,cold=1/2/3'
  for (const tiers of ['hot=1/2/3', 'hot=1/2/3,medium=1/2/3,warm=1/2/3', `hot=1/2/2,${others}`, `hot=0/2/3,${others}`]) {
    t.throws(() => times('--tiers', tiers), { message: /tiers: .*expected refresh\/soft\/hard/ })
  }
})
