/**
 * Techniques of deciding bids without a server, each with a mistake that the checker must find.
 *
 *     get-set      reads the state, and writes it a moment later whatever happened in between
 *     float        replies with a price that a script returned as a number, cut off at the point
 *     no-close     does not look at the end of the auction
 *     stale-cache  rejects from what it remembers, also those whose bid was accepted and whose reply was lost
 */
import { setImmediate as turn } from 'node:timers/promises'
import { fieldsOf } from '../../../src/admission/index.js'
import { createOracle } from '../../../lab/rules/oracle.js'

export const MUTANTS = Object.freeze(['get-set', 'float', 'no-close', 'stale-cache'])
const CENTS = 100
const cut = (/** @type {string} */ minor) => String(Math.floor(Number(minor) / CENTS) * CENTS)

/**
 * @param {string} mutant one of MUTANTS, or empty: no mistake
 * @returns {import('../../../lab/systems/auctions/techniques.js').Technique}
 */
export function openMutant (mutant) {
  const oracle = createOracle()
  /** @type {Map<string, any>} */
  const remembered = new Map()

  /** @param {import('../../../src/admission/index.js').Command} command */
  async function submit (command) {
    const { key, args } = command
    const before = oracle.states.get(key)
    if (mutant === 'stale-cache' && remembered.has(key) && Number(args[2]) < Number(remembered.get(key).details.minNext)) {
      return { ...remembered.get(key), code: 'too_low', isReplay: false }
    }
    if (mutant === 'no-close' && before?.closeAt) before.closeAt = String(Number.MAX_SAFE_INTEGER)
    const copy = before && { ...before }
    if (mutant === 'get-set') await turn()
    if (mutant === 'get-set' && copy) oracle.states.set(key, copy)
    const [decision] = oracle.admit([command], Date.now())
    if (mutant === 'stale-cache') remembered.set(key, decision)
    const { currentBid } = decision.details
    const details = mutant === 'float' && currentBid ? { ...decision.details, currentBid: cut(currentBid) } : decision.details
    return { ...decision, details, generation: '', now: 0 }
  }

  return {
    counts: { calls: 0, attempts: 0 },
    submit,
    async stored (key) {
      // requests are in the outbox
      const entries = oracle.outbox.filter((entry) => entry.key === key).map(({ fields }) => fieldsOf(fields))
      const requests = new Map(entries.map(({ seq, request }) => [seq, request]))
      const events = (oracle.events.get(key) ?? []).map((flat) => fieldsOf(flat))
      return {
        events: events.map((event) => ({ ...event, request: requests.get(event.seq) ?? '' })),
        state: oracle.states.get(key) ?? {}
      }
    },
    async close () {}
  }
}
