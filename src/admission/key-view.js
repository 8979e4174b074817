/**
 * Recently used keys in memory: the state of each and its newest events, kept current by the outbox.
 *
 *     get(key) -> in memory? -> else read from a node, with the end of its outbox -> then events are applied as they come
 *
 * Events that come while a key is read are applied after it, by their sequence numbers.
 *
 * @typedef {import('./outbox.js').Entry} Entry
 * @typedef {import('./key-reader.js').KeyState} KeyState
 * @typedef {KeyState & { pins: number, listeners: Set<() => void> }} Kept
 */
import { createKeyReader } from './key-reader.js'
import { followOutboxes } from './outbox.js'
import { storedOf } from './own-state.js'
import { OURS } from './rules.js'

const MAX_KEYS = 10_000
/** Events of each key that are read, and kept. */
const TAIL = 64

/** @typedef {ReturnType<typeof createKeyView>} KeyView */

/**
 * @param {Omit<Parameters<typeof followOutboxes>[0], 'onEntry' | 'onReset' | 'isFollowed'> &
 *   Omit<Parameters<typeof createKeyReader>[0], 'tail' | 'exists'> & { onEntry?: (entry: Entry) => void, maxKeys?: number, tail?: number,
 *   rules?: import('./rules.js').Ruleset }} options as followOutboxes and createKeyReader; `rules` of the system; `tail`: events read
 *   of each key; up to twice as many are kept
 */
export function createKeyView ({ onEntry = () => {}, rules = OURS, maxKeys = MAX_KEYS, tail = TAIL, ...parts }) {
  /** Keys in memory, the least recently used first. @type {Map<string, Kept>} */
  const kept = new Map()
  /** Keys that are being read, with the events since. @type {Map<string, { reading: Promise<KeyState | null>, since: Entry[] }>} */
  const opening = new Map()
  let resets = 0
  const readNode = createKeyReader({ ...parts, tail, exists: rules.names.exists })

  const follower = followOutboxes({
    ...parts,
    onEntry (_, entry) {
      onEntry(entry)
      opening.get(entry.key)?.since.push(entry)
      const one = kept.get(entry.key)
      if (one) apply(one, entry)
    },
    onReset (partition) {
      resets++
      for (const one of [...kept.values()]) if (one.partition === partition) forget(one)
    }
  })

  /** Its next user reads it again. @param {Kept} one */
  function forget (one) {
    kept.delete(one.key)
    for (const listener of one.listeners) listener()
  }

  /** @param {Kept} one @param {Entry} entry */
  function apply (one, { rule, fields: event }) {
    const seq = Number(event.seq)
    const last = Number(one.fields[rules.names.seq])
    if (seq !== 0 && seq <= last) return
    if ((seq !== 0 && seq > last + 1) || !rules.folds[rule]?.(one.fields, event)) return forget(one)
    if (seq !== 0) one.events.push(event)
    if (one.events.length > 2 * tail) one.events.splice(0, tail)
    for (const listener of one.listeners) listener()
  }

  /** @param {string} key @returns {Promise<KeyState | null>} */
  async function load (key) {
    const since = /** @type {Entry[]} */ ([])
    const resetsBefore = resets
    const reading = readNode(key, follower.position(parts.partitionOf(key)))
    opening.set(key, { reading, since })
    try {
      const stored = await reading
      // events may have been missed since it was read
      if (!stored || follower.ageMs(stored.partition) === Infinity || resets !== resetsBefore) return stored
      const one = { ...stored, pins: 0, listeners: new Set() }
      kept.set(key, one)
      for (const entry of since) if (kept.get(key) === one) apply(one, entry)
      evict(kept, maxKeys)
      return one
    } finally {
      opening.delete(key)
    }
  }

  return {
    follower,

    /** Sequence number of the last event. @param {KeyState} one */
    seqOf: ({ fields }) => Number(fields[rules.names.seq]),

    /** As queries and streams show it. @param {KeyState} one */
    storedOf: (one) => storedOf(one, rules.names),

    /** What is in memory. @param {string} key @returns {KeyState | undefined} */
    peek: (key) => kept.get(key),

    /** @param {string} key */
    fromPrimary: (key) => readNode(key),

    /**
     * @param {string} key
     * @returns {Promise<KeyState | null>} null: the primary does not have it
     * @throws {import('../errors.js').FreshetError} of the connection, when no node can be asked
     */
    async get (key) {
      const one = kept.get(key)
      const read = () => opening.get(key)?.reading ?? load(key)
      if (one === undefined) return read()
      kept.delete(key)
      kept.set(key, one)
      // without its outbox it stays as it is, and serves only while no node can be asked
      return follower.ageMs(one.partition) === Infinity ? read().catch(() => one) : one
    },

    /**
     * Calls back after each change of a key in memory, and when it is no longer there.
     * @param {string} key @param {() => void} listener @returns {() => void} ends it
     */
    watch (key, listener) {
      const one = kept.get(key)
      if (!one) return () => {}
      one.pins++
      one.listeners.add(listener)
      return () => { if (one.listeners.delete(listener)) one.pins-- }
    },

    close: () => follower.close()
  }
}

/** @param {Map<string, Kept>} kept the least recently used first @param {number} maxKeys */
function evict (kept, maxKeys) {
  for (const { key, pins } of kept.values()) {
    if (kept.size <= maxKeys) return
    if (pins === 0) kept.delete(key)
  }
}
