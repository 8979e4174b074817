/**
 * Heartbeats: once a second each writer stores how many of its items were acknowledged so far, and the time on its clock. Two
 * heartbeats of a writer give its write rate, in every layout and without a connection to the writer.
 *
 *     fr:{latest}:writers     a hash, one for all partitions
 *         <name of a writer>  "1500000 1790000000000"      items, ms since 1970
 *
 * A writer removes its field when it closes. Other writers remove the fields of killed writers after `HEARTBEAT_KEPT_MS`, and
 * the whole key expires when writing stops.
 *
 * @typedef {{ items: number, atMs: number }} Heartbeat `items`: never decreases, because each opening of a feed has a name of its own
 */

export const HEARTBEAT_KEPT_MS = 60_000
/** of the whole key, after the last heartbeat */
export const HEARTBEATS_EXPIRE_MS = 600_000

const FORMAT = /^(\d{1,16}) (\d{1,16})$/

/** @param {Heartbeat} heartbeat @returns {string} */
export const heartbeatText = ({ items, atMs }) => `${items} ${Math.floor(atMs)}`

/** @param {Buffer | string} text @returns {Heartbeat | null} null = not a heartbeat */
export function readHeartbeat (text) {
  const [, items, atMs] = FORMAT.exec(String(text)) ?? []
  return items === undefined ? null : { items: Number(items), atMs: Number(atMs) }
}

/**
 * @param {Buffer[]} flat reply of HGETALL: name, heartbeat, ...
 * @returns {Map<string, Heartbeat | null>} by writer
 */
export const readHeartbeats = (flat) =>
  new Map(Array.from({ length: flat.length / 2 }, (_, i) => [String(flat[2 * i]), readHeartbeat(flat[2 * i + 1])]))
