/** Times as they are given in JSON, and what every way in makes of them: milliseconds, or the fault. */

const NO_TIME = '; expected milliseconds since 1970 below 2^41, or ISO 8601'

/** @type {[given: any, expected: number | string][]} */
export const TIMES = [
  [0, 0],
  [1, 1],
  [9_999_999, 9_999_999],
  [100_000_000_000, 100_000_000_000],
  [1_700_000_000_000, 1_700_000_000_000],
  [1.7e12, 1_700_000_000_000],
  [2 ** 41 - 1, 2 ** 41 - 1],
  ['0', 0],
  ['2012', 2012],
  ['1700000000000', 1_700_000_000_000],
  ['0001700000000000', 1_700_000_000_000],
  ['2024-02-29', Date.UTC(2024, 1, 29)],
  ['2026-01-31T10:00:00Z', Date.UTC(2026, 0, 31, 10)],
  ['2026-01-31T10:00:00.123+02:00', Date.UTC(2026, 0, 31, 8, 0, 0, 123)],
  ['2026-01-31 10:00', Date.UTC(2026, 0, 31, 10)],

  [1_700_000_000, '1700000000 looks like seconds; multiply by 1000'],
  [1_700_000_000.25, '1700000000.25 looks like seconds; multiply by 1000'],
  ['1700000000', '"1700000000" looks like seconds; multiply by 1000'],
  ['1700000000.25', '"1700000000.25" looks like seconds; multiply by 1000'],
  [1_700_000_000_000_000, '1700000000000000 looks like microseconds; divide by 1000 and round'],
  ['1700000000000000', '"1700000000000000" looks like microseconds; divide by 1000 and round'],
  [1_700_000_000_000_000_000, '1700000000000000000 looks like nanoseconds; divide by 1,000,000 and round'],
  ['1700000000000000000', '"1700000000000000000" looks like nanoseconds; divide by 1,000,000 and round'],
  [20_240_131, '20240131 looks like a date; write it as 2024-01-31'],
  ['20240131', '"20240131" looks like a date; write it as 2024-01-31'],
  [2 ** 41, `2199023255552${NO_TIME}`],
  [1_700_000_000_000.5, `1700000000000.5${NO_TIME}`],
  [-5, `-5${NO_TIME}`],
  [1.5, `1.5${NO_TIME}`],
  [1e300, `1e+300${NO_TIME}`],
  ['soon', `"soon"${NO_TIME}`],
  ['', `""${NO_TIME}`],
  ['-5', `"-5"${NO_TIME}`],
  [null, `null${NO_TIME}`],
  [true, `true${NO_TIME}`],
  [{}, `an object${NO_TIME}`],
  [[1], `an array${NO_TIME}`],
  ['x'.repeat(99), `"${'x'.repeat(63)}...${NO_TIME}`]
]
