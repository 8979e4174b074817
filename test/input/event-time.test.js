import fc from 'fast-check'
import t from 'tap'
import { eventTime } from '../../writers/input/event-time.js'

t.test('digits are epoch milliseconds', async (t) => {
  t.equal(eventTime('0'), 0)
  t.equal(eventTime('0001700000000000'), 1700000000000)
  t.equal(eventTime('2012'), 2012)
})

t.test('a date is midnight UTC', async (t) => {
  t.equal(eventTime('2012-01-01'), Date.UTC(2012, 0, 1))
  t.equal(eventTime('2024-02-29'), Date.UTC(2024, 1, 29))
  t.equal(eventTime('1969-12-31'), -86_400_000)
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
  ]) t.equal(new Date(eventTime(text)).toISOString(), expected, text)
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
    '0099-01-01', '+002012-01-01', '12012-01-01'
  ]) t.same(eventTime(text), NaN, JSON.stringify(text))
})

t.test('every ISO date of Date is read back', async (t) => {
  const date = fc.date({ min: new Date('1000-01-01T00:00:00.000Z'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true })
  const result = fc.check(fc.property(date, (one) => eventTime(one.toISOString()) === one.getTime()))
  t.notOk(result.failed, fc.defaultReportMessage(result) ?? `seed ${result.seed}`)
})
