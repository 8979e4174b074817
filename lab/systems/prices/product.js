/**
 * The product in a gateway of the lab: its queries and replies, as in a reader; consumers of their own refresh (consumers.js).
 *
 *     scheduled        each request reads the state of the asset from the server
 *     scheduled+push   the state is in memory, kept current by the outbox
 */
import { createAdmission, createAgreement, createKeyView, fieldsOf } from '../../../src/admission/index.js'
import { createPrimaries, openConnection } from '../../../src/store/index.js'
import { createReading } from '../../../src/systems/inside.js'
import { createDemand, createEncoder, createPriceQueries, createPrices, STATUSES } from '../../../src/systems/prices/index.js'
import { eachOf, ruleTiers, tierOf } from './assets.js'
import { METRICS, silent } from '../auctions/silent.js'

export const PRODUCT_ARMS = Object.freeze(['scheduled', 'scheduled+push'])
export const PARTITIONS = 16
const SYSTEM = 'prices'
const DEADLINE_MS = 20_000
const REQUEST_MS = 600_000
const MAX_KEYS = 20_000
const LOOK_EVERY_MS = 50

/** @param {string} technique @param {import('./techniques.js').Place} place @returns {Promise<import('./techniques.js').Technique>} */
export async function openProductArm (technique, { redisUrl, keyPrefix, tiers, isFirst }) {
  const routes = createPrimaries(redisUrl, { name: 'lab-prices', deadlineMs: DEADLINE_MS })
  await routes.opened
  const admission = createAdmission({
    route: routes.route,
    agreement: createAgreement({ router: routes.router, keyPrefix, system: SYSTEM, partitions: PARTITIONS }),
    requestMs: REQUEST_MS,
    keepMs: REQUEST_MS,
    deadlineMs: DEADLINE_MS,
    metrics: METRICS
  })
  await admission.agreed()
  const { submit, partitionOf, keyOf } = /** @type {any} */ (admission)
  const connectionOf = (/** @type {number} */ partition) => routes.route(keyOf(partition)('')).connection
  const stateOf = async (/** @type {string} */ asset) =>
    fieldsOf((await connectionOf(partitionOf(asset)).send('HGETALL', keyOf(partitionOf(asset))(`state:${asset}`))).map(String))
  const parts = { connectionOf, keyOf, partitionOf, partitions: PARTITIONS }
  const view = technique === 'scheduled' ? serverView(stateOf, partitionOf) : memoryView({ ...parts, redisUrl })
  const demand = createDemand({ submit })
  const reading = createReading({ view, unknown: 'ASSET_UNKNOWN', ...parts })
  const queries = createPriceQueries({ ...view, ...reading, find: view.get, submit, demand, store: null, now: Date.now })
  const encoder = createEncoder({ isShared: () => false })
  const prices = createPrices({ submit, stateOf, tiers: ruleTiers(tiers), waits: reading })

  return {
    async begin (assets) {
      if (isFirst) await eachOf(assets, (asset) => prices.set(asset, { tier: tierOf(asset), pinned: true }, ''))
      await eachOf(assets, async (asset) => {
        while (!(await stateOf(asset)).price) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
      })
    },

    async price (asset) {
      try {
        const found = await queries.price(asset)
        const { body, headers } = encoder.replyOf(found, Date.now())
        return { status: 200, level: /** @type {any} */ (headers['freshet-cache']), body, headers }
      } catch (error) {
        if (!STATUSES[error.code]) throw error
        return { status: STATUSES[error.code] === 'unknown' ? 404 : 503, level: 'none', body: JSON.stringify({ code: error.code }) }
      }
    },

    stored: async (assets) => Object.fromEntries(await Promise.all(assets.map(async (asset) => {
      const partition = partitionOf(asset)
      const entries = await connectionOf(partition).send('XRANGE', keyOf(partition)(`events:${asset}`), '-', '+')
      return [asset, storedOf(entries.map((/** @type {any} */ [, flat]) => fieldsOf(flat.map(String))))]
    }))),

    async close () {
      demand.close()
      await view.close()
      await routes.close()
    }
  }
}

/** @param {import('../../../src/admission/index.js').Fields[]} events @returns {import('./techniques.js').Stored} */
const storedOf = (events) => ({
  failed: events.filter(({ type }) => type === 'failed').length,
  prices: events.filter(({ type }) => type === 'price').map(({ seq, price, at }) => ({ version: Number(seq), price, at: Number(at) }))
})

/**
 * @param {Pick<Parameters<typeof createKeyView>[0], 'connectionOf' | 'keyOf' | 'partitionOf' | 'partitions'> & { redisUrl: string }} parts
 */
const memoryView = ({ redisUrl, ...parts }) => createKeyView({
  ...parts,
  maxKeys: MAX_KEYS,
  tail: 1,
  log: silent,
  async open (signal) {
    const connection = await openConnection(redisUrl, { name: 'lab-outbox', deadlineMs: DEADLINE_MS, signal })
    return { connection, isLeft: () => false, end: () => connection.close() }
  }
})

/**
 * A view that keeps nothing.
 * @param {(asset: string) => Promise<import('../../../src/admission/index.js').Fields>} stateOf
 * @param {(asset: string) => number} partitionOf
 * @returns {any} what createPriceQueries needs of a KeyView
 */
function serverView (stateOf, partitionOf) {
  async function get (/** @type {string} */ key) {
    const fields = await stateOf(key)
    return fields.status === undefined ? null : { key, partition: partitionOf(key), generation: '', fields, events: [] }
  }
  return { peek: () => undefined, get, fromPrimary: get, watch: () => () => {}, async close () {} }
}
