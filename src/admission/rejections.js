/**
 * The rejection cache: answers commands that would certainly be rejected, without the server. It follows the outboxes of the primary,
 * as a reader follows those of a replica, and asks the rule's certain rejections (rules.js) about the state in memory.
 *
 * It is used only while it is current, for a key in its memory, in the generation that the server last named, and for a request that
 * was not accepted before: a client that lost its reply must still get `accepted`.
 */
import { prepare } from './batcher.js'
import { createKeyView } from './key-view.js'
import { OURS } from './rules.js'

/**
 * Whether a request may have been accepted within its lifetime: a Bloom filter, in two halves that take turns. It never forgets an
 * accepted request in time; a few others seem accepted, and are asked about.
 */

const BITS = 2 ** 24
const WORD = 32

/**
 * @param {{ requestMs: number, now?: () => number, bits?: number }} options `requestMs`: lifetime of a request
 */
export function createAccepted ({ requestMs, now = () => performance.now(), bits = BITS }) {
  let [young, old] = [new Uint32Array(bits / WORD), new Uint32Array(bits / WORD)]
  let turnedMs = now()

  function turn () {
    if (now() - turnedMs < requestMs) return
    ;[young, old] = [old.fill(0), young]
    turnedMs = now()
  }

  /** Two bits of a request. @param {string} request base64url of a digest @returns {number[]} */
  function bitsOf (request) {
    const bytes = Buffer.from(request.slice(0, 12), 'base64url')
    return [bytes.readUInt32LE(0) % bits, bytes.readUInt32LE(4) % bits]
  }

  /** @param {Uint32Array} half @param {number} bit */
  const has = (half, bit) => (half[bit / WORD | 0] >>> bit % WORD & 1) === 1

  return {
    /** @param {string} request */
    add (request) {
      turn()
      for (const bit of bitsOf(request)) young[bit / WORD | 0] |= 1 << bit % WORD
    },

    /** @param {string} request @returns {boolean} false: certainly not */
    mayHave (request) {
      const bits = bitsOf(request)
      return [young, old].some((half) => bits.every((bit) => has(half, bit)))
    }
  }
}

const MAX_AGE_MS = 250
const CONFIRM_MS = 100

/** Instead of a request id: the holder of a claim gets `already_claimed`, not `sold_out`. */
const holderOf = (/** @type {string} */ rule, /** @type {string} */ key, /** @type {string} */ user) =>
  prepare({ rule, key, scope: user, requestId: ' holder', args: [] }).request

/** @typedef {ReturnType<typeof createRejections>} Rejections */

/**
 * @param {Omit<Parameters<typeof createKeyView>[0], 'sinceMs'> & { requestMs: number,
 *   metrics: { answered: () => void, asked: (why: 'behind' | 'unknown' | 'open') => void } }} options as createKeyView; `requestMs`:
 *   lifetime of requests; `metrics.asked`: why the server is asked
 */
export function createRejections ({ requestMs, metrics, onEntry = () => {}, rules = OURS, ...options }) {
  const { certain, claimants, names } = rules
  const accepted = createAccepted({ requestMs })
  const view = createKeyView({ ...options, rules, sinceMs: requestMs, confirmMs: CONFIRM_MS, onEntry: note })
  /** @param {import('./outbox.js').Entry} entry */
  function note (entry) {
    const { rule, key, fields } = entry
    if (fields.request) accepted.add(fields.request)
    if (fields.claim) accepted.add(holderOf(rule, key, fields.user))
    onEntry(entry)
  }
  /** @type {Map<number, string>} by partition, as last named by the server */
  const generations = new Map()

  /** @param {string} rule @param {string} key @param {string[]} args */
  const hasClaim = (rule, key, args) => claimants?.[rule] ? accepted.mayHave(holderOf(rule, key, claimants[rule](args))) : false

  return {
    /**
     * @param {import('./batcher.js').Prepared} command @param {number} partition
     * @returns {import('./batcher.js').Answer | null} null: the server must be asked
     */
    answer ({ rule, key, args, request, isTask }, partition) {
      if (isTask) return null
      const keyState = view.peek(key)
      if (!keyState || !certain[rule]) {
        metrics.asked('unknown')
        if (certain[rule]) view.get(key).catch(() => {})
        return null
      }
      const { generation } = keyState
      const isSame = generation === view.follower.generation(partition) && generation === generations.get(partition)
      if (view.follower.ageMs(partition) > MAX_AGE_MS || !isSame) {
        metrics.asked('behind')
        return null
      }
      const outcome = certain[rule](keyState.fields, args)
      const isKnown = request !== '' && accepted.mayHave(request)
      if (outcome === null || isKnown || hasClaim(rule, key, args)) {
        metrics.asked('open')
        return null
      }
      metrics.answered()
      const [seq, version] = [Number(keyState.fields[names.seq]), Number(keyState.fields[names.version])]
      const details = /** @type {Record<string, any>} */ (
        Object.fromEntries(outcome.details.flatMap((name, i, all) => i % 2 === 0 ? [[name, all[i + 1]]] : [])))
      return { code: outcome.code, accepted: false, details, seq, version, isReplay: false, generation, now: Date.now() }
    },

    /** What the server named. @param {number} partition @param {string} generation */
    note (partition, generation) { generations.set(partition, generation) },

    close: () => view.close()
  }
}
