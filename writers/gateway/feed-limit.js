/**
 * How many feeds there may be, whoever made them, before this gateway makes no more. A feed stays until somebody drops it:
 * whoever may POST could otherwise leave behind any number of names, and each costs every reader a question twice a second.
 *
 * Counted is what is stored, and what is being made here. When both together are too many, those being made are waited for:
 * they may be stored already, and counted twice. Gateways know nothing of each other: several that make feeds at the same
 * moment may go beyond the limit, each by one.
 *
 * @typedef {ReturnType<typeof createFeedLimit>} FeedLimit
 */
import { HttpError } from '../../src/http/problem.js'

/**
 * @param {{ maxFeeds: number, count: () => Promise<number> }} options `maxFeeds`: 0 = none is made; `count`: of those stored
 */
export function createFeedLimit ({ maxFeeds, count }) {
  /** @type {Set<Promise<unknown>>} */
  const making = new Set()

  return {
    /**
     * @param {string} name
     * @returns {Promise<(made: Promise<unknown>) => void>} to be called, with what settles when the feed is made or is not
     * @throws {HttpError} FEEDS_FULL
     */
    async admit (name) {
      for (;;) {
        const stored = maxFeeds === 0 ? 0 : await count()
        if (stored >= maxFeeds) throw refusal(name, stored)
        if (stored + making.size < maxFeeds) break
        await Promise.race(making)
      }
      /** @type {(made: Promise<unknown>) => void} */
      let settle = () => {}
      const place = new Promise((resolve) => { settle = resolve }).catch(() => {}).finally(() => making.delete(place))
      making.add(place)
      return settle
    }
  }

  /** @param {string} name @param {number} stored */
  function refusal (name, stored) {
    const why = maxFeeds === 0 ? 'this gateway creates none (--max-feeds 0)' : `${stored} feeds are stored, and this gateway creates no more beyond ${maxFeeds} (--max-feeds)`
    return new HttpError('FEEDS_FULL', `there is no feed ${name}, and ${why}; write to one that there is, or drop those that nobody needs`)
  }
}
