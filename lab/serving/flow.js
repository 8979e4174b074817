/**
 * Which ids each client follows, the URL that it requests, and how much it receives. Pure.
 *
 *     ids of a client   spread over the whole feed, so that some of them are always being written; no id has two clients
 *     flow              versions of an id in one second; an event holds only the newest version of each id
 *
 * @typedef {object} Followers
 * @property {number} connections clients, each with a connection of its own
 * @property {number} [idsEach] absent: each client follows the whole feed
 * @property {number} ids of the feed
 */

/** The reader's own limit, whatever maxRate a client requests. */
const MOST_EVENTS_A_SECOND = 100

/** @param {number} client from 0 @param {Followers} followers @returns {number[]} its ids, by their index in the feed */
export function idsOf (client, { connections, idsEach, ids }) {
  if (idsEach === undefined) return Array.from({ length: ids }, (_, at) => at)
  return Array.from({ length: idsEach }, (_, i) => Math.floor((i * connections + client) * ids / (connections * idsEach)))
}

/** @param {number} at index of an id in the feed @returns {string} as the synthetic source names it */
export const nameOf = (at) => `id-${at}`

/**
 * @param {'push' | 'poll'} asks
 * @param {number} client
 * @param {Followers & { feed: string, maxRate?: number }} followers
 * @returns {string} path that it requests
 */
export function pathOf (asks, client, { feed, maxRate, ...followers }) {
  const ats = idsOf(client, followers)
  const query = new URLSearchParams({ limit: String(ats.length) })
  if (followers.idsEach !== undefined) for (const at of ats) query.append('id', nameOf(at))
  if (asks === 'push' && maxRate !== undefined) query.set('maxRate', String(maxRate))
  return `/v1/feeds/${feed}/${asks === 'push' ? 'live' : 'items'}?${query}`
}

/**
 * What one client receives.
 * @param {Followers & { maxRate?: number, ratePerSecond: number }} followers `ratePerSecond`: items of the whole feed
 * @returns {{ eventsPerSecond: number, itemsPerEvent: number, itemsPerSecond: number }}
 */
export function flowOf ({ idsEach, ids, maxRate = MOST_EVENTS_A_SECOND, ratePerSecond }) {
  const each = idsEach ?? ids
  const versionsPerSecond = ratePerSecond / ids
  const eventsPerSecond = Math.min(maxRate, MOST_EVENTS_A_SECOND, each * versionsPerSecond)
  const itemsPerSecond = each * Math.min(versionsPerSecond, eventsPerSecond)
  return { eventsPerSecond, itemsPerSecond, itemsPerEvent: itemsPerSecond / eventsPerSecond }
}
