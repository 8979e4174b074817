import fc from 'fast-check'
import t from 'tap'
import { faultOfInteger, isTs, readTs } from '../../src/item/event-time.js'
import { TIMES } from './times.js'

t.test('the table of times', async (t) => {
  for (const [given, expected] of TIMES) t.same(readTs(given), expected, JSON.stringify(given))
})

t.test('a date and time is UTC unless it has an offset', async (t) => {
  for (const [text, expected] of [
    ['2024-05-06T07:08', '2024-05-06T07:08:00.000Z'],
    ['2024-05-06T07:08:09', '2024-05-06T07:08:09.000Z'],
    ['2024-05-06 07:08:09.1', '2024-05-06T07:08:09.100Z'],
    ['2024-05-06T07:08:09,123Z', '2024-05-06T07:08:09.123Z'],
    ['2024-05-06T07:08:09.123999+00:00', '2024-05-06T07:08:09.123Z'],
    ['2024-05-06T07:08:09+02:30', '2024-05-06T04:38:09.000Z'],
    ['2024-01-01T00:00:00+01', '2023-12-31T23:00:00.000Z'],
    ['2024-12-31T23:59:59.999-0830', '2025-01-01T08:29:59.999Z']
  ]) t.equal(new Date(readTs(text)).toISOString(), expected, text)
})

t.test('ambiguous text is refused', async (t) => {
  for (const text of [
    '', ' ', '-1', '+5', '1.5', '1e3', '0x10', '١٢', 'now', 'Invalid Date', 'Jan 1 2012', '1/2/2012', '2012/01/02', '01-02-2012',
    '20120101T00',
    '2012-1-1', '2012-01', '2012-W01-1', '2012-001', '2012-01-01T', '2012-01-01Z', '2012-01-01T05', '2012-01-01T5:00', '2012-01-01T05:00:',
    '2012-01-01T05:00:00.', '2012-01-01T05:00.5', '2012-01-01T24:00', '2012-01-01T23:60', '2012-01-01T23:59:60', '2012-01-01T05:00 Z',
    '2012-01-01T05:00 +01:00', '2012-01-01T05:00+24:00', '2012-01-01T05:00+01:60', '2012-01-01T05:00CET', '2012-01-01t05:00z',
    '2012-01-01T05:00Z\n',
    ' 2012-01-01', '2012-01-01 ', '2012-00-01', '2012-13-01', '2012-01-00', '2012-01-32', '2012-02-30', '2023-02-29', '1900-02-29',
    '2012-04-31',
    '0099-01-01', '+002012-01-01', '12012-01-01', '1969-12-31', '2040-01-01'
  ]) t.equal(readTs(text), `${JSON.stringify(text)}; expected milliseconds since 1970 below 2^41, or ISO 8601`)
})

t.test('every ISO date of Date within the range is read back', async (t) => {
  const date = fc.date({ min: new Date('1973-03-04T00:00:00.000Z'), max: new Date(2 ** 41 - 1), noInvalidDate: true })
  const result = fc.check(fc.property(date, (one) => readTs(one.toISOString()) === one.getTime()))
  t.notOk(result.failed, fc.defaultReportMessage(result) ?? `seed ${result.seed}`)
})

t.test('a number is accepted unless it is out of range or looks like seconds', async (t) => {
  const result = fc.check(fc.property(fc.integer({ min: -1000, max: 2 ** 42 }), (ts) =>
    isTs(ts) === (ts >= 0 && ts < 2 ** 41 && !(ts >= 1e7 && ts < 1e11)) && (isTs(ts) === (readTs(ts) === ts))))
  t.notOk(result.failed, fc.defaultReportMessage(result) ?? `seed ${result.seed}`)
})

t.test('where only integers are accepted, the message says so', async (t) => {
  t.equal(faultOfInteger(1_700_000_000), '1700000000 looks like seconds; multiply by 1000')
  for (const [given, shown] of [['2024-05-06', '"2024-05-06"'], [1.5, '1.5'], [5n, '5'], [undefined, 'undefined'], [null, 'null'],
    [Symbol('x'), 'Symbol(x)'], ['x'.repeat(200), `"${'x'.repeat(63)}...`]]) {
    t.equal(faultOfInteger(given), `${String(shown)}; expected integer milliseconds since 1970, below 2^41`)
  }
})
