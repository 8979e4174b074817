/**
 * Prices of a time range: from the event stream of the asset, and what is older from the history store.
 */
import { fieldsOf } from '../../admission/index.js'
import { candles } from './candles.js'
import { FreshetError } from './errors.js'

const MAX_POINTS = 10_000

/**
 * @param {{ view: import('../../admission/index.js').KeyView, store: import('./queries.js').Store | null,
 *   connectionOf: (partition: number, isPrimary: boolean) => import('../../store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string, partitionOf: (key: string) => number }} parts `store`: null = there is none
 */
export function createHistory ({ view, store, connectionOf, keyOf, partitionOf }) {
  /** @param {string} asset @param {number} from @param {number} to ms since 1970 */
  async function pointsOf (asset, from, to) {
    const partition = partitionOf(asset)
    const entries = await connectionOf(partition, false).send('XRANGE', keyOf(partition)(`events:${asset}`), '-', '+')
    /** @type {import('../../admission/index.js').Fields[]} */
    const events = entries.map((/** @type {any} */ [, flat]) => fieldsOf(flat.map(String)))
    const all = events.filter(({ type }) => type === 'price')
      .map(({ at, price, seq }) => ({ at: Number(at), price, version: Number(seq) }))
    const points = all.filter(({ at }) => at >= from && at <= to)
    if (store === null || (all.length > 0 && all[0].at <= from)) return points
    const last = all.length > 0 ? Math.min(to, all[0].at - 1) : to
    const older = await store.history(asset, from, last, MAX_POINTS).catch((error) => {
      // its first event is here, so most likely there is nothing older
      if (events[0]?.seq !== '1') throw error
      return []
    })
    return [...older, ...points]
  }

  return {
    /**
     * @param {string} asset @param {{ from: number, to: number, stepMs: number | null }} range ms since 1970
     * @returns {Promise<{ asset: string, items: object[] }>} the newest 10,000 prices, the oldest of them first, or open, high, low and
     *   close of each step
     * @throws {FreshetError} ASSET_UNKNOWN
     */
    async history (asset, { from, to, stepMs }) {
      const points = (await pointsOf(asset, from, to)).slice(-MAX_POINTS)
      if (points.length === 0 && !await view.get(asset)) throw new FreshetError('ASSET_UNKNOWN', 'there is no asset with this id')
      return { asset, items: stepMs === null ? points : candles(points, { from, to, stepMs }) }
    }
  }
}
