/**
 * What a plan says about systems. An arm names its technique, a level the users; both together make a load.
 *
 * @typedef {{ technique: string, users: number, thinkMs?: number, rate?: number, lots?: number,
 *   driver?: 'direct' | 'http' | 'sale' | 'prices' | 'storm' | 'orders' | 'own' | 'cluster', replicas?: number, stock?: number,
 *   pool?: number, delayMs?: number, giveUp?: number, holdMs?: number, neighbour?: 'apart' | 'gateway' | 'shared', hot?: number,
 *   medium?: number, cold?: number, tiers?: string, dead?: number, uncached?: boolean, kills?: boolean,
 *   expiry?: 'soft' | 'hard', each?: number, gateways?: number, reads?: boolean, faults?: string, everywhere?: boolean,
 *   autoscaled?: boolean, ordersOnly?: boolean }} Contention `thinkMs`: mean wait of a user after a reply, 0 = none;
 *   `lots`: auctions, by Zipf's law; `driver`: direct (default), in the process of the load, http,
 *   through `gateways` of the lab (1), or sale (sales/): the users come all at once, for `stock` units; `reads`: a user asks for the
 *   price before each bid; `pool`: connections to the database, `delayMs` of each statement; `giveUp`: share of those admitted who then
 *   do nothing, until `holdMs` have passed; `neighbour`: what serves 200 queries of the sale per second beside the burst
 *   (sales/neighbours.js).
 *   Drivers of prices (prices/): prices, `hot`, `medium` and `cold` users for assets of each tier, or all for `lots` assets by Zipf's law
 *   (at `settings.rate` requests/s); storm, `users` at once, with `each` requests one after the other, when all prices have reached
 *   their soft or hard `expiry`. `tiers`: as the setting of a gateway; `dead`: exchanges that never reply; `uncached`: nothing is kept;
 *   `kills` one of two owners in the window. Driver of orders (orders/): `replicas` of consumers, at settings.rate requests/s, 0 = at rest;
 *   `faults` of orders/faults.js; `ordersOnly`: nothing but orders of one unit; `everywhere`: `replicas` of gateways and readers too,
 *   behind proxies; `autoscaled`: from one on.
 *   Driver own (own/): a rule of a user, and ours, with `users` in flight.
 *   Driver cluster (cluster/): a feed with the writer's settings, whose servers are replaced or whose slots move; `rate`: SETs beside it
 */
import { integer, matching, number, object, oneOf, trueOrFalse } from '../plan/shape.js'
import { NEIGHBOURS_AT } from './sales/neighbours.js'
import { TECHNIQUES as OF_CLUSTERS } from '../cluster/disturbances.js'
import { TECHNIQUES as OF_SALES } from './sales/techniques.js'
import { FAULTS } from './orders/faults.js'
import { TECHNIQUES as OF_ORDERS } from './orders/techniques.js'
import { TECHNIQUES as OF_OWN } from './own/subjects.js'
import { TECHNIQUES as OF_PRICES } from './prices/techniques.js'
import { TECHNIQUES as OF_BIDS } from './auctions/techniques.js'

const TECHNIQUES = Object.freeze([...new Set([...OF_BIDS, ...OF_SALES, ...OF_PRICES, ...OF_ORDERS, ...OF_OWN, ...OF_CLUSTERS])])

const TIMES = '\\d+(?:\\.\\d+)?(?:/\\d+(?:\\.\\d+)?){2}'
const TIERS = new RegExp(`^hot=${TIMES},medium=${TIMES},cold=${TIMES}$`)
const users = integer(0, 1000)

export const contentionShape = object(Object.fromEntries(Object.entries({
  driver: oneOf(['direct', 'http', 'sale', 'prices', 'storm', 'orders', 'own', 'cluster']),
  technique: oneOf(TECHNIQUES),
  users: integer(1, 10_000),
  thinkMs: number(0, 10_000),
  rate: integer(1, 100_000),
  lots: integer(1, 10_000),
  stock: integer(1, 10_000),
  pool: integer(1, 100),
  delayMs: number(0, 100),
  giveUp: number(0, 0.9),
  neighbour: oneOf(NEIGHBOURS_AT),
  holdMs: integer(100, 600_000),
  hot: users,
  medium: users,
  cold: users,
  tiers: matching('times such as hot=0.5/1/6,medium=2/4/20,cold=6/12/36', TIERS),
  dead: integer(0, 1),
  uncached: trueOrFalse,
  replicas: integer(1, 8),
  kills: trueOrFalse,
  expiry: oneOf(['soft', 'hard']),
  each: integer(1, 100),
  gateways: integer(1, 8),
  reads: trueOrFalse,
  faults: oneOf(Object.keys(FAULTS)),
  everywhere: trueOrFalse,
  autoscaled: trueOrFalse,
  ordersOnly: trueOrFalse
}).map(([name, check]) => [name, /** @type {[typeof check, undefined]} */ ([check, undefined])])))
