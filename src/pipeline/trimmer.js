/**
 * Keeps a feed within its retention. Per partition one writer at a time holds the lease `trimmer` and removes expired items
 * in pieces.
 *
 * The lease only saves work. The trimming script removes nothing that was written after the check, so two holders at once
 * do no harm. A feed without writers expires by key expiry.
 *
 * Every few seconds it looks how far back the feed reaches, before it trims what `maxItems` excludes. If that is less than the window,
 * the writer with a lease logs it.
 */
import { keptMs, keptText } from '../feeds/index.js'

/** @typedef {Omit<import('../feeds/index.js').Definition, 'createdAt'>} Definition */

const LEASE_MS = 5000
/** work per round, all partitions together, so that a large backlog does not delay the renewal of leases */
const SLICE_MS = 900
const LOOK_EVERY_MS = 5000
const FIRST_LOOK_MS = 1000
/** clock skew allowed to readers */
const SKEW_MS = 1000

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (partition: number) => (part: string) => string,
 *   partitions: number, keyPrefix: string, name: string, now: () => number,
 *   log: import('pino').Logger }} parts `name`: holder of the lease
 */
export function createTrimmer ({ layout, key, partitions, keyPrefix, name, now, log }) {
  /** @type {Set<number>} */
  const held = new Set()
  let removed = 0
  let lookAtMs = now() + FIRST_LOOK_MS
  /** how far back the feed reached when that was less than the window of that retention @type {{ ms: number, of: string } | null} */
  let short = null
  let isLogged = false
  const stopping = new AbortController()

  /** @param {import('../store/index.js').Router} primary @param {string} lease @returns {Promise<boolean>} */
  async function take (primary, lease) {
    if (await primary.send('SET', lease, name, 'NX', 'PX', LEASE_MS) !== null) return true
    if (String(await primary.send('GET', lease)) !== name) return false
    await primary.send('PEXPIRE', lease, LEASE_MS)
    return true
  }

  /**
   * @param {import('../store/index.js').Router} primary @param {number} partition
   * @param {import('../layouts/index.js').Retention} retention
   */
  async function trim (primary, partition, retention) {
    const partKey = key(partition)
    if (!await take(primary, partKey('trimmer'))) {
      held.delete(partition)
      return
    }
    held.add(partition)
    const until = now() + SLICE_MS / partitions
    let more = true
    while (more && !stopping.signal.aborted && now() < until) {
      const piece = await layout.trim(primary, partKey, { retention, nowMs: now() - SKEW_MS })
      removed += piece.removed
      more = piece.more
    }
    if (more && !stopping.signal.aborted) {
      log.warn({ partition, removed }, 'items expire faster than they are trimmed; memory of the server grows')
    }
  }

  /** @param {import('../store/index.js').Router} primary @param {Definition} definition */
  async function look (primary, definition) {
    lookAtMs = now() + LOOK_EVERY_MS
    const ms = await keptMs(primary, keyPrefix, definition, now())
    if (ms !== null) short = { ms, of: textOf(definition) }
    return ms
  }

  /** @param {number} ms @param {Definition} definition */
  function warn (ms, { feed, windowMs, maxItems }) {
    isLogged = true
    log.warn({ feed, keptMs: ms, windowMs, maxItems }, `the feed keeps ${keptText(ms, { windowMs })}, because ` +
      `each partition keeps the newest ${maxItems.toLocaleString('en')} (maxItems); to keep more: ` +
      `npx freshet feed set ${feed} --max-items N (0 = no limit)`)
  }

  return {
    /**
     * How far back the feed reached when it was last less than the window of this retention, ms; null = the window decides.
     * @param {import('../layouts/index.js').Retention} retention
     */
    keptMs: (retention) => short !== null && short.of === textOf(retention) ? short.ms : null,

    look,

    /** Items removed so far. */
    get removed () { return removed },

    /**
     * One round over all partitions.
     * @param {import('../store/index.js').Router} primary
     * @param {Definition} definition
     * @throws {import('../errors.js').FreshetError} what a partition met first; the others are trimmed all the same
     */
    async round (primary, definition) {
      /** @type {Error | null} */
      let failure = null
      const kept = now() < lookAtMs
        ? null
        : await look(primary, definition).catch((error) => {
          failure = error
          return null
        })
      for (let partition = 0; partition < partitions; partition++) {
        await trim(primary, partition, definition).catch((error) => { failure ??= error })
      }
      if (kept !== null && held.size > 0 && !isLogged) warn(kept, definition)
      if (failure) throw failure
    },

    /** Ends the running round after its current piece. */
    stop () { stopping.abort() },

    /** Releases the leases. @param {import('../store/index.js').Router} primary */
    async release (primary) {
      for (const partition of held) {
        const lease = key(partition)('trimmer')
        if (String(await primary.send('GET', lease)) === name) await primary.send('DEL', lease)
      }
      held.clear()
    }
  }
}

/** @param {import('../layouts/index.js').Retention} retention */
const textOf = ({ windowMs, maxItems }) => `${windowMs} ${maxItems}`
