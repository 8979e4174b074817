/** What opening a stream of several feeds leaves when it fails. */
import t from 'tap'
import { FreshetError } from '../../src/errors.js'
import { createOpening } from '../../src/push/opening.js'

t.test('hubs that opened are let go when another one fails before them', async (t) => {
  /** @type {string[]} */
  const letGo = []
  const hubs = {
    throwIfClosed () {},
    get: async () => undefined,
    async follow (/** @type {string} */ feed) {
      if (feed === 'full') throw new FreshetError('VIEW_OVER_BOUND')
      await new Promise(setImmediate)
      return { hub: { isFollowing: async () => {} } }
    },
    lingerIfEmpty: (/** @type {string} */ feed) => { letGo.push(feed) }
  }
  const opening = createOpening(/** @type {any} */ ({
    hubs, queries: { definition: async () => ({ partitions: 1 }) }, waiting: {}, streams: {}, caps: { check () {} }
  }))
  const wanted = { feeds: ['first', 'full', 'last'], ids: null, limit: 1, encoding: 'utf8', periodMs: 10, position: null }
  const client = { token: null, isPermitted: () => true, open: () => t.fail('nothing is sent') }
  await t.rejects(opening.streamSeveral(wanted, [], /** @type {any} */ (client)), { code: 'VIEW_OVER_BOUND' })
  t.same(letGo, ['first', 'last'])
})
