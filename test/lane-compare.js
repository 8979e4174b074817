/**
 * What tap takes from `tcompare` in a lane. The package makes an object of each value that it compares, which takes seconds for the
 * items of a large feed. Values that are strictly equal need no such comparison, and no difference is to be shown.
 */
import { isDeepStrictEqual } from 'node:util'
import { same as sameOrDifference } from 'tcompare'

export * from 'tcompare'

/** @type {typeof sameOrDifference} */
export const same = (found, wanted, options) =>
  isDeepStrictEqual(found, wanted) ? { match: true, diff: '' } : sameOrDifference(found, wanted, options)
