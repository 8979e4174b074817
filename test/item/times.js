/** Times as they are given in JSON, and what every way in makes of them: milliseconds, or the fault; in files some are other faults. */

const NO_TIME = '; expected milliseconds since 1970 below 2^41, or ISO 8601'

const NO_FILE_TIME = '; expected milliseconds since 1970, from 1973 on, or ISO 8601, ' +
  'not a year, a month, a time of day or a spreadsheet day'

/** @type {[given: any, expected: number | string, inFiles?: string][]} */
export const TIMES = [
  [0, 0, `0 would be 1970-01-01T00:00:00.000Z${NO_FILE_TIME}`],
  [1, 1, `1 would be 1970-01-01T00:00:00.001Z${NO_FILE_TIME}`],
  [2024, 2024, '2024 looks like a year; write it as 2024-01-01'],
  [202_601, 202_601, '202601 looks like a month; write it as 2026-01-01'],
  [235_959, 235_959, '235959 looks like a time of day; write it as YYYY-MM-DDT23:59:59'],
  [45_658, 45_658, '45658 looks like a spreadsheet day; write it as 2025-01-01'],
  [9_999_999, 9_999_999, `9999999 would be 1970-01-01T02:46:39.999Z${NO_FILE_TIME}`],
  [100_000_000_000, 100_000_000_000],
  [1_700_000_000_000, 1_700_000_000_000],
  [1.7e12, 1_700_000_000_000],
  [2 ** 41 - 1, 2 ** 41 - 1],
  ['0', 0, `"0" would be 1970-01-01T00:00:00.000Z${NO_FILE_TIME}`],
  ['2012', 2012, '"2012" looks like a year; write it as 2012-01-01'],
  [202_401_311_230, 202_401_311_230, '202401311230 looks like a date and time; write it as 2024-01-31T12:30'],
  [210_000_000_000, 210_000_000_000],
  ['1970-01-01', 0],
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
