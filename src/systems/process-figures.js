/** What each process of consumers sees, for readers to show: a key per process in partition 0, which expires with the process. */
import { eachTick } from '../ticks.js'

/** @import { Connection } from '../store/index.js' */

const EVERY_MS = 1000
const LIVES_MS = 5000
const THIS_MACHINE = Object.freeze(['127.0.0.1', 'localhost'])
const partOf = (/** @type {string} */ id) => `figures:${id}`

/**
 * @param {{ connection: () => Connection, key: (part: string) => string, id: string,
 *   figures: () => unknown }} parts `connection` to the primary of partition 0; `id` of the process, as in its heartbeats; `figures`:
 *   stored as JSON
 */
export function publishFigures ({ connection, key, id, figures }) {
  const close = eachTick(EVERY_MS, async () => {
    try {
      await connection().send('SET', key(partOf(id)), JSON.stringify(figures()), 'PX', LIVES_MS)
    } catch {
      // the servers are away; the key expires
    }
  })
  return { close }
}

/**
 * @param {Connection} connection @param {(part: string) => string} key of partition 0
 * @returns {Promise<any[]>} of each process that lives
 */
export async function readFigures (connection, key) {
  const ids = (await connection.send('ZRANGE', key('consumers'), 0, -1)).map(String)
  if (ids.length === 0) return []
  const texts = await connection.send('MGET', ...ids.map((/** @type {string} */ id) => key(partOf(id))))
  return texts.flatMap((/** @type {unknown} */ text) => text === null ? [] : [JSON.parse(String(text))])
}

/** The URL of what runs on this machine, whose faults a page may switch; null: it is elsewhere. @param {string} url */
export const localUrl = (url) => THIS_MACHINE.includes(new URL(url).hostname) ? url : null
