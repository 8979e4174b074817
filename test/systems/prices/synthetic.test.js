import fc from 'fast-check'
import t from 'tap'
import { syntheticTick } from '../../../src/systems/prices/index.js'
import { holds } from '../../properties.js'

const EXCHANGES = ['alpha', 'beta', 'gamma']
const GOLDEN = { price: '99527.36', volume: '456.958', ts: 1_764_000_000_000 }
const anySymbol = fc.stringMatching(/^[a-z0-9-]{1,12}$/)
const anySeed = fc.integer({ min: 0, max: 2 ** 32 - 1 })
const anyTick = fc.integer({ min: 1_700_000_000, max: 1_900_000_000 })

t.test('a price is a function of seed, exchange, symbol and tick, and the same on every machine', async (t) => {
  const of = { seed: 1, exchange: 'alpha', symbol: 'btc-usd', tick: 1_764_000_000, tickMs: 1_000 }
  t.same(syntheticTick(of), GOLDEN)
  for (const other of [{ seed: 2 }, { exchange: 'beta' }, { symbol: 'eth-usd' }, { tick: of.tick + 1 }]) {
    t.not(syntheticTick({ ...of, ...other }).price, GOLDEN.price)
  }
})

t.test('a coin has one price: in another currency it differs by the rate, as much as exchanges differ', async (t) => {
  const priceOf = (/** @type {string} */ symbol) =>
    Number(syntheticTick({ seed: 1, exchange: 'alpha', symbol, tick: 1_764_000_000, tickMs: 1_000 }).price)
  for (const coin of ['aave', 'btc', 'dgb']) {
    for (const [currency, rate] of [['eur', 0.86], ['jpy', 155]]) {
      t.ok(Math.abs(priceOf(`${coin}-${currency}`) / priceOf(`${coin}-usd`) / Number(rate) - 1) < 0.005, `${coin}-${currency}`)
    }
  }
  t.ok(priceOf('btc-usd') > 50_000 && priceOf('usdt-usd') < 2)
})

t.test('prices are positive decimal texts, exchanges differ by less than 0.5 %, a minute changes them by less than 4 %', async (t) => {
  await holds(t, fc.property(anySeed, anySymbol, anyTick, fc.integer({ min: 1, max: 60 }), (seed, symbol, tick, seconds) => {
    const at = (/** @type {string} */ exchange, /** @type {number} */ tick) => {
      const { price, volume } = syntheticTick({ seed, exchange, symbol, tick, tickMs: 1_000 })
      if (!/^\d+\.\d{2,7}$/.test(price) || !/^\d+\.\d{3}$/.test(volume)) throw new Error(`${price} ${volume}`)
      return Number(price)
    }
    const prices = EXCHANGES.map((exchange) => at(exchange, tick))
    const before = EXCHANGES.map((exchange) => at(exchange, tick - seconds))
    return Math.min(...prices) > 0 && Math.max(...prices) / Math.min(...prices) < 1.005 &&
      prices.every((price, i) => Math.abs(price / before[i] - 1) < 0.04)
  }), { runs: 2_000 })
})

t.test('most ticks of 100 ms have another price, so that an aged price is noticed', async (t) => {
  const prices = Array.from({ length: 100 }, (_, i) =>
    syntheticTick({ seed: 1, exchange: 'alpha', symbol: 'btc-usd', tick: 17_640_000_000 + i, tickMs: 100 }).price)
  t.ok(new Set(prices).size > 80, `${new Set(prices).size}`)
})
