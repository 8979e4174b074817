import fc from 'fast-check'
import t from 'tap'
import { aggregate } from '../../../src/systems/prices/index.js'
import { holds } from '../../properties.js'

const NOW = 1_764_000_000_000
const NAMES = ['a', 'b', 'c']
const NOTHING = { nowMs: NOW, last: null, candidate: null }
const LAST = { price: '100', hard: NOW + 1 }

/** @param {...(string | object)} given prices, or parts of ticks */
const ticksOf = (...given) => given.map((one, i) => {
  const parts = typeof one === 'string' ? { price: one } : one
  return { exchange: NAMES[i], ok: /** @type {const} */ (true), price: '100', volume: '1', ts: NOW, ...parts }
})
const failed = (/** @type {string} */ reason) => ({ ok: false, reason })

/** @param {any} result */
const priceOf = ({ price, failure }) => price ?? failure
/** @param {any} result reason or ok of each source */
const outcomes = ({ sources }) => sources.map((/** @type {any} */ { ok, reason }) => ok ? 'ok' : reason)

t.test('the mean is weighted by volume, and exact', async (t) => {
  t.equal(priceOf(aggregate(ticksOf({ price: '100', volume: '1' }, { price: '101', volume: '3' }), NOTHING)), '100.75')
  t.equal(priceOf(aggregate(ticksOf('0.1', '0.1', '0.1'), NOTHING)), '0.1')
  t.equal(priceOf(aggregate(ticksOf('99999999999.99999999', '99999999999.99999999'), NOTHING)), '99999999999.99999999')
  t.equal(priceOf(aggregate(ticksOf('1.000000019', '1.000000010'), NOTHING)), '1.0000000145')
  t.equal(priceOf(aggregate(ticksOf('1', '1', '1.01'), NOTHING)), '1.00333333333333333', 'a mean without an end has 18 digits')
})

t.test('prices below a satoshi keep all of their digits', async (t) => {
  t.equal(priceOf(aggregate(ticksOf('0.000000019', '1.9e-8', '0.0000000190'), NOTHING)), '0.000000019')
  t.equal(priceOf(aggregate(ticksOf('1.2345678901234567e-30', '1.2345678901234569E-30'), NOTHING)),
    '0.0000000000000000000000000000012345678901234568')
  t.same(outcomes(aggregate(ticksOf('1e-18', '1.06e-18', '1.2e-18'), NOTHING)), ['outlier', 'ok', 'outlier'])
  const last = { price: '0.000000000000000001', hard: NOW + 1 }
  t.match(aggregate(ticksOf('0.0000000000000000013', '1.3e-18'), { ...NOTHING, last }), {
    failure: 'moved', candidate: { price: '0.0000000000000000013' }
  })
})

t.test('a volume may have an exponent', async (t) => {
  const ticks = ticksOf({ price: '100', volume: '1.5e3' }, { price: '101', volume: '500' }, { price: '102', volume: '0.0000000000005E15' })
  t.equal(priceOf(aggregate(ticks, NOTHING)), '100.6')
  t.equal(priceOf(aggregate(ticksOf({ volume: '1e-30' }, { price: '101', volume: '3e-30' }), NOTHING)), '100.75')
})

t.test('without volume the median counts, and a source without volume has no weight', async (t) => {
  const without = (/** @type {string} */ price) => ({ price, volume: '0' })
  t.equal(priceOf(aggregate(ticksOf(without('100'), without('101'), without('104')), NOTHING)), '101')
  t.equal(priceOf(aggregate(ticksOf(without('100'), without('101')), NOTHING)), '100.5')
  t.equal(priceOf(aggregate(ticksOf(without('104'), '100', '101'), NOTHING)), '100.5')
  t.equal(priceOf(aggregate(ticksOf({ price: '104', volume: 'NaN' }, { volume: '-5' }, '101'), NOTHING)), '101')
})

t.test('prices that are no positive numbers, and ticks of another time, are dropped and reported', async (t) => {
  for (const [part, reason] of /** @type {[any, string][]} */ ([
    [{ price: 'NaN' }, 'nan'], [{ price: '' }, 'nan'], [{ price: '1e' }, 'nan'], [{ price: 'Infinity' }, 'nan'],
    [{ price: '1e1000' }, 'nan'], [{ price: '1e-1000' }, 'nan'], [{ price: '.5' }, 'nan'], [{ price: '0x64' }, 'nan'],
    [{ price: '-100' }, 'negative'], [{ price: '0' }, 'negative'], [{ price: '-1e-30' }, 'negative'], [{ price: '0e5' }, 'negative'],
    [{ price: '1e3' }, 'outlier'], [{ price: '1'.repeat(60) }, 'outlier'], [{ price: '0.000000001' }, 'outlier'],
    [{ ts: NOW - 60_001 }, 'old'], [{ ts: NOW + 2_001 }, 'ahead'], [{ ts: NOW + 3_600_000 }, 'ahead'], [{ ts: NOW - 3_600_000 }, 'old'],
    [failed('timeout'), 'timeout'], [failed('wrong_symbol'), 'wrong_symbol']
  ])) {
    const result = aggregate(ticksOf(part, '100', '101'), NOTHING)
    t.equal(priceOf(result), '100.5', reason)
    t.same(outcomes(result), [reason, 'ok', 'ok'])
  }
  const atBounds = aggregate(ticksOf({ ts: NOW - 60_000 }, { ts: NOW + 2_000 }), NOTHING)
  t.same(atBounds.sources, [{ exchange: 'a', ok: true, ts: NOW - 60_000 }, { exchange: 'b', ok: true, ts: NOW + 2_000 }])
})

t.test('a quorum is two, after dropping', async (t) => {
  t.same(aggregate(ticksOf(failed('timeout'), failed('http_500'), { price: 'NaN' }), NOTHING), {
    failure: 'all_failed',
    candidate: null,
    sources: [
      { exchange: 'a', ok: false, reason: 'timeout' }, { exchange: 'b', ok: false, reason: 'http_500' },
      { exchange: 'c', ok: false, ts: NOW, reason: 'nan' }
    ]
  })
  t.equal(priceOf(aggregate(ticksOf(failed('timeout'), failed('timeout'), '100'), NOTHING)), 'no_quorum')
  t.equal(priceOf(aggregate(ticksOf(failed('timeout'), { ts: 0 }, '100'), { ...NOTHING, last: LAST })), 'no_quorum')
  t.equal(priceOf(aggregate(ticksOf('100', '200', '300'), NOTHING)), 'no_quorum', 'the two others are outliers')
  t.equal(priceOf(aggregate(ticksOf('100'), NOTHING)), 'no_quorum')
})

t.test('more than 5 % from the median is an outlier', async (t) => {
  const result = aggregate(ticksOf('100', '101', '101000'), NOTHING)
  t.equal(priceOf(result), '100.5')
  t.same(outcomes(result), ['ok', 'ok', 'outlier'])
  t.same(outcomes(aggregate(ticksOf('95', '100', '105'), NOTHING)), ['ok', 'ok', 'ok'])
  t.same(outcomes(aggregate(ticksOf('94.99999999', '100', '105.00000001'), NOTHING)), ['outlier', 'ok', 'outlier'])
})

t.test('of two that disagree, the one near the last price counts, as long as that has not expired', async (t) => {
  const two = ticksOf('101', '101000', failed('timeout'))
  const result = aggregate(two, { ...NOTHING, last: LAST })
  t.equal(priceOf(result), '101')
  t.same(outcomes(result), ['ok', 'outlier', 'timeout'])
  for (const last of [null, { ...LAST, hard: NOW }, { ...LAST, price: '110' }]) {
    const without = aggregate(two, { ...NOTHING, last })
    t.equal(priceOf(without), 'no_quorum')
    t.same(outcomes(without), ['outlier', 'outlier', 'timeout'])
  }
  t.equal(priceOf(aggregate(ticksOf('96', '104'), { ...NOTHING, last: LAST })), '100', 'these agree')
})

const MINUTE_MS = 60_000
/** @param {string} price @param {number} [agoMs] @param {string[]} [exchanges] */
const candidateOf = (price, agoMs = 0, exchanges = ['a', 'b']) => ({ price, sinceMs: NOW - agoMs, exchanges })

t.test('a move of more than 20 % needs all three sources, another source that agrees later, or a minute', async (t) => {
  const last = { ...NOTHING, last: LAST }
  const two = ticksOf('130', '131', failed('timeout'))
  t.match(aggregate(two, last), { failure: 'moved', candidate: candidateOf('130.5') })
  t.same(outcomes(aggregate(two, last)), ['ok', 'ok', 'timeout'])
  t.equal(priceOf(aggregate(ticksOf('130', '131', '132'), last)), '131')
  t.match(aggregate(two, { ...last, candidate: candidateOf('130', 5000) }), { failure: 'moved', candidate: candidateOf('130.5', 5000) },
    'the same two sources again')
  t.equal(priceOf(aggregate(two, { ...last, candidate: candidateOf('130', 5000, ['b', 'c']) })), '130.5', 'a is another source')
  t.equal(priceOf(aggregate(two, { ...last, candidate: candidateOf('130', MINUTE_MS) })), '130.5', 'for a minute')
  t.match(aggregate(two, { ...last, candidate: candidateOf('150', MINUTE_MS) }), { failure: 'moved', candidate: candidateOf('130.5') },
    'another result')
  t.equal(priceOf(aggregate(two, { ...last, last: { ...LAST, hard: NOW } })), '130.5', 'the last price has expired')
  t.match(aggregate(two, { ...last, last: { ...LAST, hard: NOW }, candidate: candidateOf('130', 5000) }), { failure: 'moved' },
    'the last price expired while a candidate waits')
  t.equal(priceOf(aggregate(ticksOf('120', '120'), last)), '120')
  t.equal(priceOf(aggregate(ticksOf('80', '80'), last)), '80')
  t.equal(priceOf(aggregate(ticksOf('79', '80'), last)), 'moved')
  t.equal(priceOf(aggregate(ticksOf('130', '130', '99999'), last)), 'moved', 'an outlier does not confirm')
  t.match(aggregate(ticksOf('1', failed('timeout')), { ...last, candidate: candidateOf('1', MINUTE_MS) }), { candidate: null },
    'not consecutive')
})

t.test('a factor of 1,000 on one source changes nothing, and on two of three it does not count for a minute', async (t) => {
  const last = { ...NOTHING, last: LAST }
  t.equal(priceOf(aggregate(ticksOf('100', '100', '100000'), last)), '100')
  const two = ticksOf('100', '100000', '100000')
  const candidate = candidateOf('100000', 0, ['b', 'c'])
  t.match(aggregate(two, last), { failure: 'moved', candidate })
  t.match(aggregate(two, { ...last, candidate: { ...candidate, sinceMs: NOW - MINUTE_MS + 1 } }), { failure: 'moved' })
  t.equal(priceOf(aggregate(two, { ...last, candidate: { ...candidate, sinceMs: NOW - MINUTE_MS } })), '100000')
})

t.test('the time of a price is the median of those of its sources, of two the older, and never ahead', async (t) => {
  /** @param {...number} agoMs */
  const asOf = (...agoMs) => {
    const found = /** @type {any} */ (aggregate(ticksOf(...agoMs.map((ms) => ({ ts: NOW + ms }))), NOTHING))
    return found.asOf - NOW
  }
  t.equal(asOf(-1000, -55_000, -20_000), -20_000)
  t.equal(asOf(-1000, -55_000), -55_000)
  t.equal(asOf(1500, 1500, -10), 0)
})

t.test('a tick is too old when a price of its time would have expired', async (t) => {
  const ticks = ticksOf({ ts: NOW - 20_001 }, { ts: NOW - 20_000 }, { ts: NOW })
  t.same(outcomes(aggregate(ticks, { ...NOTHING, hardMs: 20_000 })), ['old', 'ok', 'ok'])
  t.same(outcomes(aggregate(ticks, { ...NOTHING, hardMs: 1_800_000 })), ['ok', 'ok', 'ok'], 'a minute at most')
})

/** The same in fractions of doubles: fine for numbers with few digits. @param {any[]} ticks @param {any} options */
function oracle (ticks, { last, candidate }) {
  const near = (/** @type {number} */ x, /** @type {number} */ to, /** @type {number} */ share) => Math.abs(x - to) <= to * share + 1e-9
  const median = (/** @type {number[]} */ all) => {
    const sorted = all.toSorted((a, b) => a - b)
    return (sorted[Math.floor((all.length - 1) / 2)] + sorted[Math.ceil((all.length - 1) / 2)]) / 2
  }
  const valid = ticks.filter(({ ok, price, ts }) => ok && Number(price) > 0 && ts >= NOW - 60_000 && ts <= NOW + 2_000)
    .map(({ exchange, price, volume }) => ({ exchange, price: Number(price), volume: Number(volume) }))
  if (valid.length === 0) return 'all_failed'
  let counted = valid.filter(({ price }) => near(price, median(valid.map((one) => one.price)), 0.05))
  const before = last && last.hard > NOW ? Number(last.price) : null
  if (valid.length === 2 && counted.length === 0 && before !== null) {
    counted = valid.filter(({ price }) => near(price, before, 0.05))
    if (counted.length === 0) return 'no_quorum'
  } else if (counted.length < 2) return 'no_quorum'
  const volume = counted.reduce((sum, one) => sum + one.volume, 0)
  const price = volume === 0
    ? median(counted.map((one) => one.price))
    : counted.reduce((sum, one) => sum + one.price * one.volume, 0) / volume
  const judge = last && candidate ? Number(last.price) : before
  const isMove = judge !== null && !near(price, judge, 0.2)
  const isConfirmed = counted.length === 3 || (candidate !== null && near(price, Number(candidate.price), 0.05) &&
    (NOW >= candidate.sinceMs + MINUTE_MS || counted.some(({ exchange }) => !candidate.exchanges.includes(exchange))))
  return isMove && !isConfirmed ? 'moved' : price
}

// whole numbers, and shares of them that are exact
const anyPrice = fc.oneof(fc.integer({ min: 90, max: 112 }), fc.integer({ min: 60, max: 150 }), fc.constantFrom(0, -100, 100_000))
const anyGoodTick = fc.record({
  ok: fc.constant(true),
  price: anyPrice.map(String),
  volume: fc.constantFrom('0', '1', '2.5'),
  ts: fc.constantFrom(NOW, NOW, NOW - 60_001, NOW + 2_001)
})
const anyTick = fc.oneof({ weight: 6, arbitrary: anyGoodTick }, { weight: 1, arbitrary: fc.constant({ ok: false, reason: 'timeout' }) })
const anyTicks = fc.tuple(anyTick, anyTick, anyTick)
  .map((parts) => /** @type {any[]} */ (parts.map((part, i) => ({ exchange: NAMES[i], ...part }))))
const anyOptions = fc.record({
  nowMs: fc.constant(NOW),
  last: fc.option(fc.record({ price: fc.integer({ min: 80, max: 120 }).map(String), hard: fc.constantFrom(NOW, NOW + 1, NOW + 1) })),
  candidate: fc.option(fc.record({
    price: fc.integer({ min: 60, max: 150 }).map(String),
    sinceMs: fc.constantFrom(NOW, NOW - MINUTE_MS),
    exchanges: fc.constantFrom(...[['a', 'b'], ['b', 'c'], ['a', 'b', 'c']])
  }))
})

t.test('it agrees with a naive calculation', async (t) => {
  await holds(t, fc.property(anyTicks, anyOptions, (ticks, options) => {
    const [got, wanted] = [priceOf(aggregate(ticks, options)), oracle(ticks, options)]
    return typeof wanted === 'number' ? Math.abs(Number(got) - wanted) < 1e-6 : got === wanted
  }), { runs: 30_000 })
})

t.test('the order of sources does not matter, and a price is between those of the sources that counted', async (t) => {
  await holds(t, fc.property(anyTicks, anyOptions, (ticks, options) => {
    const result = aggregate(ticks, options)
    if (priceOf(result) !== priceOf(aggregate(ticks.toReversed(), options))) return false
    if (!('price' in result)) return true
    const counted = ticks.filter((_, i) => result.sources[i].ok).map(({ price }) => Number(price))
    return Number(result.price) >= Math.min(...counted) && Number(result.price) <= Math.max(...counted)
  }), { runs: 10_000 })
})
