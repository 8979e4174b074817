import t from 'tap'
import { candles, historyOf } from '../../../src/systems/prices/query-table.js'

/** @param {[at: number, price: string][]} list */
const points = (list) => list.map(([at, price]) => ({ at, price }))

t.test('a step has the first, highest, lowest and last price of its time', async (t) => {
  const list = points([[1000, '5.0'], [1200, '7.25'], [1999, '4.1'], [2000, '6'], [5500, '1']])
  t.same(candles(list, 1000), [
    { at: 1000, open: '5.0', high: '7.25', low: '4.1', close: '4.1', points: 3 },
    { at: 2000, open: '6', high: '6', low: '6', close: '6', points: 1 },
    { at: 5000, open: '1', high: '1', low: '1', close: '1', points: 1 }
  ], 'a step without a price has none')
})

t.test('points outside of the range do not count, those on its ends do', async (t) => {
  const list = points([[999, '1'], [1000, '2'], [2000, '3'], [2001, '4']])
  const events = async () => list.map(({ at, price }, i) => ({ type: 'price', ts: at, at: String(at), price, seq: i + 1 }))
  const { items } = await historyOf({ events, store: null }, 'a', { from: 1000, to: 2000, stepMs: 5000 })
  t.same(items, [{ at: 0, open: '2', high: '3', low: '2', close: '3', points: 2 }])
  t.same(candles([], 1), [])
})

t.test('prices are compared as decimals, exactly', async (t) => {
  const highOf = (/** @type {string[]} */ ...prices) => candles(prices.map((price, at) => ({ at, price })), 1000)[0]
  t.match(highOf('9.5', '10.25', '9'), { high: '10.25', low: '9' })
  t.match(highOf('9007199254740993.00000001', '9007199254740993.00000002'), { high: '9007199254740993.00000002', low: /01$/ })
  t.match(highOf('0.000000000000000018', '0.000000000000000019'), { high: /19$/, low: /18$/ })
  t.match(highOf('0.5', '0.50', '0.45'), { high: '0.5', low: '0.45' })
})
