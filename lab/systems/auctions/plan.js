/**
 * What a plan says about bids. An arm names its technique, a level the users; both together make a load.
 *
 * @typedef {{ technique: string, users: number, thinkMs?: number, rate?: number, lots?: number, skew?: 'hot' | 'zipf', rttMs?: number,
 *   driver?: 'direct' | 'http' | 'sale' | 'prices' | 'storm' | 'orders' | 'cluster', replicas?: number, stock?: number,
 *   pool?: number, delayMs?: number, giveUp?: number, holdMs?: number, neighbour?: 'apart' | 'gateway' | 'shared', hot?: number,
 *   medium?: number, cold?: number, tiers?: string, dead?: number, uncached?: boolean, kills?: boolean,
 *   expiry?: 'soft' | 'hard', faults?: string, everywhere?: boolean, autoscaled?: boolean }} Contention `thinkMs`: mean wait of a user
 *   after a reply, 0 = none; `rate`: bids/s whatever the replies do; `lots`: auctions; `skew`: 90 % on one (default), or by Zipf's law;
 *   `driver`: direct (default), in the process of the load, http, through a gateway of the lab, or sale (first-come/): the users come
 *   all at once, for `stock` units; `pool`: connections to the database, `delayMs` of each statement;
 *   `giveUp`: share of those admitted who then do nothing, until `holdMs` have passed; `neighbour`: what serves 200 queries of the sale
 *   per second beside the burst (first-come/neighbours.js).
 *   Drivers of prices (prices/): prices, `hot`, `medium` and `cold` users for assets of each tier, or all for `lots` assets by Zipf's law
 *   (at `settings.rate` requests/s); storm, `users` at once when all prices have reached their soft or hard `expiry`. `tiers`: as the
 *   setting of a gateway; `dead`: exchanges that never reply; `uncached`: nothing is kept; `kills` one of two owners
 *   in the window. Driver of orders (orders/): `replicas` of consumers, at settings.rate requests/s; `faults` of
 *   orders/faults.js; `everywhere`: `replicas` of gateways and readers too, behind proxies; `autoscaled`: from one on.
 *   Driver cluster (cluster/): a feed with the writer's settings, whose servers are replaced or whose slots move; `rate`: SETs beside it
 */
import { at, unfit } from '../../plan/shape.js'
import { NEIGHBOURS_AT } from '../sales/neighbours.js'
import { TECHNIQUES as OF_CLUSTERS } from '../../cluster/disturbances.js'
import { TECHNIQUES as OF_SALES } from '../sales/techniques.js'
import { FAULTS } from '../orders/faults.js'
import { TECHNIQUES as OF_ORDERS } from '../orders/techniques.js'
import { TECHNIQUES as OF_PRICES } from '../prices/techniques.js'
import { TECHNIQUES as OF_BIDS } from './techniques.js'

const TECHNIQUES = Object.freeze([...new Set([...OF_BIDS, ...OF_SALES, ...OF_PRICES, ...OF_ORDERS, ...OF_CLUSTERS])])

const TIMES = '\\d+(?:\\.\\d+)?(?:/\\d+(?:\\.\\d+)?){2}'
const TIERS = new RegExp(`^hot=${TIMES},medium=${TIMES},cold=${TIMES}$`)
const DRIVERS = Object.freeze(['direct', 'http', 'sale', 'prices', 'storm', 'orders', 'cluster'])
const isUsers = (/** @type {unknown} */ value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 1000

/** @type {Readonly<Record<string, (value: unknown) => boolean>>} */
const FIELDS = Object.freeze({
  driver: (value) => DRIVERS.includes(/** @type {string} */ (value)),
  technique: (value) => TECHNIQUES.includes(/** @type {string} */ (value)),
  users: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 10_000,
  thinkMs: (value) => typeof value === 'number' && value >= 0 && value <= 10_000,
  rate: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 100_000,
  lots: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 10_000,
  skew: (value) => value === 'hot' || value === 'zipf',
  rttMs: (value) => typeof value === 'number' && value >= 0 && value <= 1000,
  stock: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 10_000,
  pool: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 100,
  delayMs: (value) => typeof value === 'number' && value >= 0 && value <= 100,
  giveUp: (value) => typeof value === 'number' && value >= 0 && value <= 0.9,
  neighbour: (value) => NEIGHBOURS_AT.includes(/** @type {string} */ (value)),
  holdMs: (value) => Number.isInteger(value) && Number(value) >= 100 && Number(value) <= 600_000,
  hot: isUsers,
  medium: isUsers,
  cold: isUsers,
  tiers: (value) => TIERS.test(String(value)),
  dead: (value) => value === 0 || value === 1,
  uncached: (value) => typeof value === 'boolean',
  replicas: (value) => Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 8,
  kills: (value) => typeof value === 'boolean',
  expiry: (value) => value === 'soft' || value === 'hard',
  faults: (value) => Object.hasOwn(FAULTS, String(value)),
  everywhere: (value) => typeof value === 'boolean',
  autoscaled: (value) => typeof value === 'boolean'
})
const EXPECTED = `driver (${DRIVERS.join(' | ')}), technique (${TECHNIQUES.join(' | ')}), users (1 to 10,000), thinkMs (0 to 10,000), ` +
  'rate (1 to 100,000), lots (1 to 10,000), skew (hot | zipf), rttMs (0 to 1,000), stock (1 to 10,000), ' +
  'pool (1 to 100), delayMs (0 to 100), giveUp (0 to 0.9), holdMs (100 to 600,000), neighbour (apart | gateway | shared), ' +
  'hot, medium, cold (0 to 1,000), ' +
  'tiers (such as hot=0.5/1/6,medium=2/4/20,cold=6/12/36), dead (0 | 1), replicas (1 to 8), ' +
  `uncached, kills, everywhere, autoscaled (true | false), expiry (soft | hard), faults (${Object.keys(FAULTS).join(' | ')})`

/**
 * @param {Pick<import('../../plan/index.js').Plan, 'arms' | 'levels'>} plan @param {{ level: string, arm: string }} cell
 * @returns {Contention | undefined}
 */
export function contentionOf ({ arms, levels }, { level, arm }) {
  const [ofArm, ofLevel] = [arms[arm]?.contention, levels[level]?.contention]
  return ofArm || ofLevel ? /** @type {any} */ ({ ...ofLevel, ...ofArm }) : undefined
}

/** @param {import('../../plan/index.js').Plan} plan possibly incomplete @returns {string[]} */
export function faultsOfContention ({ arms = {}, levels = {} }) {
  const those = [...Object.entries(arms).map(([name, of]) => ({ path: `${at('arms', name)}.contention`, of: of.contention })),
    ...Object.entries(levels).map(([name, of]) => ({ path: `${at('levels', name)}.contention`, of: of.contention }))]
  return those.flatMap(({ path, of = {} }) => Object.entries(of).flatMap(([name, value]) =>
    Object.hasOwn(FIELDS, name) && FIELDS[name](value) ? [] : [unfit(`${path}.${name}`, value, EXPECTED)]))
}
