/**
 * The rejection cache: answers commands that would certainly be rejected, without the server. It follows the outboxes of the primary,
 * as a reader follows those of a replica, and asks the rule itself (rules/) about the state in memory.
 *
 * It is used only while it is current, for a key that it knows, in the generation that the server last named, and for a request that
 * was not accepted before: whose reply was lost must hear that it was accepted.
 */
import { createAccepted } from './accepted.js'
import { CERTAIN } from './rules/index.js'
import { createKeyView } from './key-view.js'
import { fieldsOf } from './outbox.js'

const MAX_AGE_MS = 250

/** @typedef {ReturnType<typeof createRejections>} Rejections */

/**
 * @param {Omit<Parameters<typeof createKeyView>[0], 'sinceMs' | 'onEntry'> & { requestMs: number,
 *   metrics: { answered: () => void, asked: (why: 'behind' | 'unknown' | 'open') => void } }} options as createKeyView; `requestMs`:
 *   lifetime of requests; `metrics.asked`: why the server is asked
 */
export function createRejections ({ requestMs, metrics, ...options }) {
  const accepted = createAccepted({ requestMs })
  const view = createKeyView({ ...options, sinceMs: requestMs, onEntry: ({ fields }) => accepted.add(fields.request) })
  /** @type {Map<number, string>} by partition, as last named by the server */
  const generations = new Map()

  return {
    /**
     * @param {import('./commands.js').Prepared} command @param {number} partition
     * @returns {import('./batcher.js').Answer | null} null: the server must be asked
     */
    answer ({ rule, key, args, request }, partition) {
      const known = view.peek(key)
      if (!known || !CERTAIN[rule]) {
        metrics.asked('unknown')
        if (CERTAIN[rule]) view.get(key).catch(() => {})
        return null
      }
      const { generation } = known
      const isSame = generation === view.follower.generation(partition) && generation === generations.get(partition)
      if (view.follower.ageMs > MAX_AGE_MS || !isSame) {
        metrics.asked('behind')
        return null
      }
      const outcome = CERTAIN[rule](known.fields, args)
      if (outcome === null || accepted.mayHave(request)) {
        metrics.asked('open')
        return null
      }
      metrics.answered()
      const [seq, version] = [Number(known.fields.seq), Number(known.fields.version)]
      return { code: outcome.code, details: fieldsOf(outcome.details), seq, version, isReplay: false, generation, now: Date.now() }
    },

    /** What the server named. @param {number} partition @param {string} generation */
    note (partition, generation) { generations.set(partition, generation) },

    close: () => view.close()
  }
}
