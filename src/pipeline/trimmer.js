/**
 * Keeps a feed within its retention. Per partition one writer at a time holds the lease `trimmer` and removes expired items
 * in pieces.
 *
 * The lease only saves work. The trimming script removes nothing that was written after the check, so two holders at once
 * do no harm. A feed without writers expires by key expiry.
 */

const LEASE_MS = 5000
/** work per round, all partitions together, so that a large backlog does not delay the renewal of leases */
const SLICE_MS = 900
/** clock skew allowed to readers */
const SKEW_MS = 1000

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (partition: number) => (part: string) => string,
 *   partitions: number, name: string, now: () => number,
 *   log: import('pino').Logger }} parts `name`: holder of the lease
 */
export function createTrimmer ({ layout, key, partitions, name, now, log }) {
  /** @type {Set<number>} */
  const held = new Set()
  let removed = 0
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

  return {
    /** Items removed so far. */
    get removed () { return removed },

    /**
     * One round over all partitions.
     * @param {import('../store/index.js').Router} primary
     * @param {import('../layouts/index.js').Retention} retention
     * @throws {import('../errors.js').FreshetError} what a partition met first; the others are trimmed all the same
     */
    async round (primary, retention) {
      /** @type {Error | null} */
      let failure = null
      for (let partition = 0; partition < partitions; partition++) {
        await trim(primary, partition, retention).catch((error) => { failure ??= error })
      }
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
