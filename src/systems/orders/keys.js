/**
 * Keys of the system: orders, products and customers have a prefix each, and so have the claims of a product. Ids of new keys
 * are made from the request and the secret of the system: a repeated request reaches the same partition, and an id cannot be computed
 * without the secret.
 */
import { idWith } from 'freshet-feed/systems'

/** @param {string} id */
export const orderKey = (id) => `o:${id}`
/** @param {string} sku */
export const productKey = (sku) => `p:${sku}`
/** @param {string} id */
export const customerKey = (id) => `c:${id}`
/** @param {string} key */
export const idOfKey = (key) => key.slice(2)
/** The id of an order, for logs; undefined for a product or customer. @param {string} key */
export const sagaIdOf = (key) => key.startsWith('o:') ? idOfKey(key) : undefined

/** The claim of one line of an order. @param {string} order @param {number} line */
export const claimOfLine = (order, line) => `o:${order}:${line}`
/** The claim of a reservation. @param {string} reservation */
export const claimOfReservation = (reservation) => `r:${reservation}`

/** @param {string} secret @param {string} customer @param {string} requestId */
export const orderIdOf = (secret, customer, requestId) => idWith(secret, 'order', customer, requestId)
/** @param {string} secret @param {string} email */
export const customerIdOf = (secret, email) => idWith(secret, 'customer', email.trim().toLowerCase())

/** The consumer of dead letters of orders, which their owner parked. */
export const SAGA = 'saga'

/**
 * Whether a dead letter must be kept, because only it leads to a parked order.
 * @param {{ consumer: string }} letter @param {Record<string, string>} state of its key
 */
export const isLetterNeeded = ({ consumer }, { parked = '' }) => consumer === SAGA && parked !== ''
