/**
 * Publishes how many items this writer has written (format: feeds/heartbeats.js), for displays of the write rate. A failure
 * is logged once and never stops the writer. After a missing permission it is tried again each minute.
 */
import { HEARTBEAT_KEPT_MS, HEARTBEATS_EXPIRE_MS, heartbeatText, readHeartbeats, writersKey } from '../feeds/index.js'

const CLEAN_EVERY_MS = 30_000
const RETRY_MS = 60_000
/** fields removed at once */
const MAX_REMOVED = 1000

/** @typedef {import('../store/index.js').Router} Connection to all primaries */

/**
 * @param {{ keyPrefix: string, feed: string, name: string, items: () => number, now: () => number, log: import('pino').Logger }} parts
 *   `name`: of the writer; `items`: acknowledged so far; `now`: ms since 1970
 */
export function createHeartbeats ({ keyPrefix, feed, name, items, now, log }) {
  const key = writersKey(keyPrefix, feed)
  let isWritten = false
  let isLogged = false
  let nextAtMs = -Infinity
  let cleanAtMs = -Infinity

  /** @param {Error & { code?: string, outcome?: string }} error lost connections show elsewhere; refusals only here */
  function backOff (error) {
    if (error.outcome !== 'forbidden' && error.outcome !== 'refused') return
    nextAtMs = performance.now() + RETRY_MS
    if (!isLogged) {
      log.warn({ code: error.code, reason: error.message },
        'heartbeats cannot be written, so readers do not know the write rate; items are written all the same')
    }
    isLogged = true
  }

  /** Removes heartbeats of killed writers. @param {Connection} primary */
  async function clean (primary) {
    cleanAtMs = performance.now() + CLEAN_EVERY_MS
    const nowMs = now()
    const old = [...readHeartbeats(await primary.send('HGETALL', key))]
      .filter(([, heartbeat]) => heartbeat === null || Math.abs(nowMs - heartbeat.atMs) > HEARTBEAT_KEPT_MS).map(([writer]) => writer)
    if (old.length > 0) await primary.send('HDEL', key, ...old.slice(0, MAX_REMOVED))
  }

  return {
    /** @param {Connection} primary @returns {Promise<void>} never rejects */
    async write (primary) {
      if (performance.now() < nextAtMs) return
      try {
        await primary.sendAll([['HSET', key, name, heartbeatText({ items: items(), atMs: now() })], ['PEXPIRE', key, HEARTBEATS_EXPIRE_MS]])
        isWritten = true
        // a user without the permission to clean may still write
        if (performance.now() >= cleanAtMs) await clean(primary).catch(() => {})
      } catch (error) {
        backOff(error)
      }
    },

    /** @param {Connection} primary @returns {Promise<void>} never rejects */
    async remove (primary) {
      if (!isWritten) return
      isWritten = false
      await primary.send('HDEL', key, name).catch(() => {})
    }
  }
}
