/** Orders and their events, from the rows of the database. */

/** @param {string} key of an order or payment @returns {string} the id of the order */
export const idOf = (key) => key.replace(/^o:/, '').split('.')[0]

/** @param {string} condition */
export const EVENTS_OF_ORDERS = (condition) => `SELECT aggregate, version, type, partition, extract(epoch FROM at) * 1000 AS ms,
    coalesce(data->>'reason', '') AS reason, (data->>'total')::bigint AS total, (data->>'lines')::jsonb AS lines
  FROM events WHERE ${condition} ORDER BY aggregate, version`

/** @param {any} row @returns {import('./history.js').Event} */
export const eventOf = ({ aggregate, version, type, partition, ms, reason, total, lines }) => ({
  id: idOf(aggregate),
  version: Number(version),
  type,
  partition,
  atMs: Number(ms),
  reason,
  ...(total === null ? {} : { total: Number(total), lines })
})

export const ORDERS = `SELECT aggregate, status, reason, total, lines, extract(epoch FROM placed_at) * 1000 AS placed,
    extract(epoch FROM changed_at - placed_at) * 1000 AS ms
  FROM order_view WHERE aggregate LIKE 'o:%'`

/** @param {any} row @returns {import('./history.js').Order} */
export const orderOf = ({ aggregate, status, reason, total, lines, placed, ms }) =>
  ({ id: idOf(aggregate), status, reason, total: Number(total), lines, placedMs: Number(placed), ms: Number(ms) })
