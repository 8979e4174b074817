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

  /** @param {import('../store/index.js').Connection} primary @param {string} lease @returns {Promise<boolean>} */
  async function take (primary, lease) {
    if (await primary.send('SET', lease, name, 'NX', 'PX', LEASE_MS) !== null) return true
    if (String(await primary.send('GET', lease)) !== name) return false
    await primary.send('PEXPIRE', lease, LEASE_MS)
    return true
  }

  return {
    /** Items removed so far. */
    get removed () { return removed },

    /**
     * One round over all partitions.
     * @param {import('../store/index.js').Connection} primary
     * @param {import('../layouts/index.js').Retention} retention
     */
    async round (primary, retention) {
      for (let partition = 0; partition < partitions; partition++) {
        const partKey = key(partition)
        if (!await take(primary, partKey('trimmer'))) {
          held.delete(partition)
          continue
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
    },

    /** Ends the running round after its current piece. */
    stop () { stopping.abort() },

    /** Releases the leases. @param {import('../store/index.js').Connection} primary */
    async release (primary) {
      for (const partition of held) {
        const lease = key(partition)('trimmer')
        if (String(await primary.send('GET', lease)) === name) await primary.send('DEL', lease)
      }
      held.clear()
    }
  }
}
