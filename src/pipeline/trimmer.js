/**
 * Keeps a feed within its retention: one writer at a time, per partition, holds the lease `trimmer` and removes what
 * is not live any more, in pieces.
 *
 * The lease only saves work: the removing script takes nothing that was written since it was looked at, so two
 * holders at once do no harm, and a feed whose writers are gone expires by itself.
 */

const LEASE_MS = 5000
/** of each second at most so long, so that a large backlog does not delay the lease of other partitions */
const SLICE_MS = 900
/** a reader's clock may be so far behind */
const SKEW_MS = 1000

/**
 * @param {{ layout: import('../layouts/index.js').Layout, key: (partition: number) => (part: string) => string,
 *   partitions: number, name: string, now: () => number,
 *   log: import('pino').Logger }} parts `name`: who holds the lease
 */
export function createTrimmer ({ layout, key, partitions, name, now, log }) {
  /** @type {Set<number>} */
  const held = new Set()
  let removed = 0
  const stopping = new AbortController()

  /** @param {import('../store/connection.js').Connection} primary @param {string} lease @returns {Promise<boolean>} */
  async function take (primary, lease) {
    if (await primary.send('SET', lease, name, 'NX', 'PX', LEASE_MS) !== null) return true
    if (String(await primary.send('GET', lease)) !== name) return false
    await primary.send('PEXPIRE', lease, LEASE_MS)
    return true
  }

  return {
    /** How many items were removed. */
    get removed () { return removed },

    /**
     * One round over all partitions.
     * @param {import('../store/connection.js').Connection} primary
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
        if (more && !stopping.signal.aborted) log.warn({ partition, removed }, 'trimming falls behind what leaves the window; memory of the server grows')
      }
    },

    /** Ends the round that runs after its next piece. */
    stop () { stopping.abort() },

    /** Gives the leases back. @param {import('../store/connection.js').Connection} primary */
    async release (primary) {
      for (const partition of held) {
        const lease = key(partition)('trimmer')
        if (String(await primary.send('GET', lease)) === name) await primary.send('DEL', lease)
      }
      held.clear()
    }
  }
}
