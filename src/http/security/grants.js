/**
 * What a token permits. The token itself is kept nowhere: its SHA-256 digest identifies it.
 *
 * @typedef {'read' | 'write' | 'admin'} Scope
 * @typedef {object} Grant
 * @property {string | null} id the digest of the token, or null of a request that needs none
 * @property {ReadonlySet<string>} scopes
 * @property {ReadonlySet<string>} feeds names, beginnings of names such as `tenant-3.*`, or `*` for all feeds and systems
 * @property {import('../../item/index.js').IdFilter | null} ids of items in these feeds, null = all
 * @property {number} untilMs ms since 1970, Infinity = until it is revoked
 */
import { hash } from 'node:crypto'
import { FreshetError } from '../errors.js'

export const ALL_FEEDS = '*'
/** @type {readonly string[]} */
export const SCOPES = Object.freeze(['read', 'write', 'admin'])

/** @param {string} token */
export const digestOf = (token) => hash('sha256', token, 'base64url')

/** @param {Grant} grant @param {string} scope @param {string} feed `*`: all feeds; a system has an at sign */
export const permits = ({ scopes, feeds }, scope, feed) => scopes.has(scope) && covers(feeds, feed)

/** @param {ReadonlySet<string>} feeds of a grant @param {string} feed @returns {boolean} beginnings cover no system */
export function covers (feeds, feed) {
  if (feeds.has(ALL_FEEDS) || feeds.has(feed)) return true
  if (feed.startsWith('@') || feed === ALL_FEEDS) return false
  for (const pattern of feeds) if (pattern.endsWith('*') && feed.startsWith(pattern.slice(0, -1))) return true
  return false
}

/** The config of a route that filters by id (guard.js). */
export const FILTERS_IDS = /** @type {any} */ (Object.freeze({ filtersIds: true }))

/** Whether both permit the same ids. @param {Grant} a @param {Grant} b */
export const sameIds = (a, b) => a.ids?.of === b.ids?.of

/** The ids that a request is limited to; null: none. @param {object} request @returns {import('../../item/index.js').IdFilter | null} */
export const idsOf = (request) => /** @type {{ grant?: Grant | null }} */ (request).grant?.ids ?? null

/** @param {string} received */
export const unauthorized = (received) => new FreshetError('UNAUTHORIZED',
  `${received}; send "Authorization: Bearer <token>" with a token that is valid here (--tokens, --jwt-keys)`)
