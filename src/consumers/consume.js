/**
 * One consumer of one partition: each entry of the outbox has its effect at least once, in order per key; then the cursor moves.
 *
 *     entries -> by key, keys in parallel -> effect, with retries -> dead letter if it fails for good -> cursor (fenced by the token)
 *
 * The cursor is stored only when all entries of a batch are finished, so it is the lowest contiguous finished one. Effects are idempotent:
 * what was done after the last stored cursor is done again by the next owner.
 *
 * @typedef {import('../admission/index.js').Entry} Entry
 * @typedef {{ name: string, run: (entry: Entry, owned: import('./ownership.js').Owned) => Promise<void> }} Effect `run`
 *   throws; an error with `retryable: true` is tried again until it succeeds
 */
import { FreshetError } from './errors.js'
import { retry } from './retry.js'

const ATTEMPTS = 5
const PARALLEL_KEYS = 64

/**
 * @param {object} parts
 * @param {Effect} parts.effect
 * @param {import('./ownership.js').Owned} parts.owned
 * @param {() => import('../store/index.js').Connection} parts.connection to the primary
 * @param {(part: string) => string} parts.key of the partition
 * @param {(letter: { consumer: string, entry: Entry, reason: string, attempts: number }) => Promise<void>} parts.bury dead-letters.js
 * @param {import('./transport.js').Transport} parts.reader
 * @param {{ finished: (entries: number) => void, failed: () => void }} parts.metrics
 * @returns {Promise<void>} when the partition is lost, or given back
 */
export async function consume ({ effect, owned, connection, key, bury, reader, metrics }) {
  const { partition, token, signal } = owned
  const stored = await retry(() => connection().send('HGET', key('cursors'), effect.name), { attempts: Infinity, signal })

  /** @param {Entry} entry */
  async function finish (entry) {
    try {
      await retry(() => effect.run(entry, owned), { attempts: ATTEMPTS, signal, onFailure: metrics.failed })
    } catch (error) {
      signal.throwIfAborted()
      await retry(() => bury({ consumer: effect.name, entry, reason: error.message, attempts: ATTEMPTS }), { attempts: Infinity, signal })
    }
  }

  /** @param {Entry[]} entries */
  async function take (entries) {
    const chains = [...byKey(entries).values()]
    for (let i = 0; i < chains.length; i += PARALLEL_KEYS) {
      await Promise.all(chains.slice(i, i + PARALLEL_KEYS).map(async (chain) => { for (const entry of chain) await finish(entry) }))
    }
    const isStored = await retry(() => connection().runScript('advance', ['owner', 'cursors', 'generation'].map(key),
      [token, effect.name, /** @type {Entry} */ (entries.at(-1)).id]), { attempts: Infinity, signal })
    if (Number(isStored) !== 1) throw new FreshetError('LEASE_LOST', `partition ${partition} has another owner than token ${token}`)
    metrics.finished(entries.length)
  }

  reader.follow(partition, stored === null ? '0-0' : String(stored), take)
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  reader.leave(partition)
}

/** @param {Entry[]} entries @returns {Map<string, Entry[]>} */
function byKey (entries) {
  const chains = new Map()
  for (const entry of entries) {
    const chain = chains.get(entry.key)
    if (chain) chain.push(entry)
    else chains.set(entry.key, [entry])
  }
  return chains
}
