/**
 * Who follows which ids, where each asks, and how much comes of it. Pure.
 *
 *     ids of a client   spread over the whole feed, so that some of them are written all the time; no id has two clients
 *     flow              an id has so many versions a second; of those that lie in one event only the newest is sent
 *
 * @typedef {object} Followers
 * @property {number} connections clients, each with a connection of its own
 * @property {number} [idsEach] absent: each follows the whole feed
 * @property {number} ids of the feed
 */

/** A reader pushes at most so often, whatever it is asked for. */
const MOST_EVENTS_A_SECOND = 100

/** @param {number} place of the client, from 0 @param {Followers} followers @returns {number[]} places of its ids among all */
export function idsOf (place, { connections, idsEach, ids }) {
  if (idsEach === undefined) return Array.from({ length: ids }, (_, at) => at)
  return Array.from({ length: idsEach }, (_, i) => Math.floor((i * connections + place) * ids / (connections * idsEach)))
}

/** @param {number} at among all @returns {string} as the synthetic source names it */
export const nameOf = (at) => `id-${at}`

/**
 * @param {'push' | 'poll'} asks
 * @param {number} place of the client
 * @param {Followers & { feed: string, maxRate?: number }} followers
 * @returns {string} what it asks a reader for
 */
export function pathOf (asks, place, { feed, maxRate, ...followers }) {
  const ats = idsOf(place, followers)
  const query = new URLSearchParams({ limit: String(ats.length) })
  if (followers.idsEach !== undefined) for (const at of ats) query.append('id', nameOf(at))
  if (asks === 'push' && maxRate !== undefined) query.set('maxRate', String(maxRate))
  return `/v1/feeds/${feed}/${asks === 'push' ? 'live' : 'items'}?${query}`
}

/**
 * What one client is sent.
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
