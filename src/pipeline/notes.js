/**
 * What a writer notes of itself for whoever wants to know how much is written (feeds/notes.js). It is for looking at
 * only, so whatever happens to it, nobody hears of it but the log, once: items go on.
 *
 * Where the user may not, it is tried again after a minute, as a user's rights can change.
 */
import { NOTES_EXPIRE_MS, NOTE_KEPT_MS, noteText, readNotes } from '../feeds/notes.js'
import { writersKey } from '../feeds/keys.js'

const CLEAR_EVERY_MS = 30_000
const TRY_AGAIN_MS = 60_000
/** fields removed at once */
const MAX_REMOVED = 1000

/** @typedef {import('../store/connection.js').Connection} Connection */

/**
 * @param {{ keyPrefix: string, feed: string, name: string, items: () => number, now: () => number, log: import('pino').Logger }} parts
 *   `name`: of the writer; `items`: acknowledged so far; `now`: ms since 1970
 */
export function createNotes ({ keyPrefix, feed, name, items, now, log }) {
  const key = writersKey(keyPrefix, feed)
  let isNoted = false
  let wasSaid = false
  let nextAtMs = -Infinity
  let clearAtMs = -Infinity

  /** @param {Error & { code?: string, outcome?: string }} error what the server answered; others are told by whoever appends */
  function leaveOff (error) {
    if (error.outcome !== 'forbidden' && error.outcome !== 'refused') return
    nextAtMs = performance.now() + TRY_AGAIN_MS
    if (!wasSaid) log.warn({ code: error.code, reason: error.message }, 'how much is written cannot be noted, so readers do not know the rate; items are written all the same')
    wasSaid = true
  }

  /** Removes what killed writers left. @param {Connection} primary */
  async function clear (primary) {
    clearAtMs = performance.now() + CLEAR_EVERY_MS
    const nowMs = now()
    const old = [...readNotes(await primary.send('HGETALL', key))]
      .filter(([, note]) => note === null || Math.abs(nowMs - note.atMs) > NOTE_KEPT_MS).map(([writer]) => writer)
    if (old.length > 0) await primary.send('HDEL', key, ...old.slice(0, MAX_REMOVED))
  }

  return {
    /** @param {Connection} primary @returns {Promise<void>} never rejects */
    async write (primary) {
      if (performance.now() < nextAtMs) return
      try {
        await primary.sendAll([['HSET', key, name, noteText({ items: items(), atMs: now() })], ['PEXPIRE', key, NOTES_EXPIRE_MS]])
        isNoted = true
        // who may not clear up may note all the same
        if (performance.now() >= clearAtMs) await clear(primary).catch(() => {})
      } catch (error) {
        leaveOff(error)
      }
    },

    /** @param {Connection} primary @returns {Promise<void>} never rejects */
    async remove (primary) {
      if (!isNoted) return
      isNoted = false
      await primary.send('HDEL', key, name).catch(() => {})
    }
  }
}
