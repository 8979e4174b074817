/** Settings of loads that tests run. */

let feeds = 0

/** Each with a feed of its own. @param {Record<string, any>} [more] @returns {any} */
export const settingsWith = (more = {}) => ({
  keyPrefix: 'lab:',
  feed: `f${++feeds}`,
  ids: 1000,
  valueBytes: 128,
  rate: 0,
  batchItems: 100,
  layout: 'ids',
  windowMs: 600_000,
  maxItems: 0,
  ...more
})
