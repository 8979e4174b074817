/**
 * Keys of the system: orders, products and customers have a prefix each, and so have the claims of a product. Ids of what is created come
 * from the request, so that its repetition reaches the same partition.
 */
import { hash, randomUUID } from 'node:crypto'

const ID_CHARS = 22

/** @param {string} id */
export const orderKey = (id) => `o:${id}`
/** @param {string} sku */
export const productKey = (sku) => `p:${sku}`
/** @param {string} id */
export const customerKey = (id) => `c:${id}`
/** @param {string} key */
export const idOfKey = (key) => key.slice(2)
/** In logs: the id of an order; undefined of a product or customer. @param {string} key */
export const sagaIdOf = (key) => key.startsWith('o:') ? idOfKey(key) : undefined

/** Of one line. @param {string} order @param {number} line */
export const claimOfLine = (order, line) => `o:${order}:${line}`
/** @param {string} reservation */
export const claimOfReservation = (reservation) => `r:${reservation}`

/** @param {string} customer @param {string | null} requestId null: the client named none */
export const orderIdOf = (customer, requestId) => digest(`${customer}\0${requestId ?? randomUUID()}`)
/** @param {string} email */
export const customerIdOf = (email) => digest(email.trim().toLowerCase())

/** @param {string} text */
const digest = (text) => hash('sha256', text, 'base64url').slice(0, ID_CHARS)
