/**
 * Recently used keys in memory: the state of each and its newest events, kept current by the outbox.
 *
 *     get(key) -> in memory? -> else read from a node, with the end of its outbox -> then events are applied as they come
 *
 * Events that come while a key is read are applied after it, by their sequence numbers.
 *
 * @typedef {import('./outbox.js').Entry} Entry
 * @typedef {KeyState & { pins: number, listeners: Set<() => void> }} Kept
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { eventsOf, fieldsOf, followOutboxes, generationOf, isAtOrAfter } from './outbox.js'
import { storedOf } from './own-rules.js'
import { OURS } from './rules.js'

const MAX_KEYS = 10_000
/** Events of each key that are read, and kept. */
const TAIL = 64

/** @typedef {ReturnType<typeof createKeyView>} KeyView */

/**
 * @param {Omit<Parameters<typeof followOutboxes>[0], 'onEntry' | 'onReset' | 'isFollowed'> &
 *   Omit<Parameters<typeof createKeyReader>[0], 'tail' | 'exists'> & { onEntry?: (entry: Entry) => void, maxKeys?: number, tail?: number,
 *   rules?: import('./rules.js').RuleFolds }} options as followOutboxes and createKeyReader; `rules` of the system; `tail`: events read
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
      const keptState = kept.get(entry.key)
      if (keptState) apply(keptState, entry)
    },
    onReset (partition) {
      resets++
      for (const keptState of [...kept.values()]) if (keptState.partition === partition) forget(keptState)
    }
  })

  /** Its next user reads it again. @param {Kept} keptState */
  function forget (keptState) {
    kept.delete(keptState.key)
    for (const listener of keptState.listeners) listener()
  }

  /** @param {Kept} keptState @param {Entry} entry */
  function apply (keptState, { rule, fields: event }) {
    const seq = Number(event.seq)
    const last = Number(keptState.fields[rules.names.seq])
    if (seq !== 0 && seq <= last) return
    if ((seq !== 0 && seq > last + 1) || !rules.folds[rule]?.(keptState.fields, event)) return forget(keptState)
    if (seq !== 0) keptState.events.push(event)
    if (keptState.events.length > 2 * tail) keptState.events.splice(0, tail)
    for (const listener of keptState.listeners) listener()
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
      const keptState = { ...stored, pins: 0, listeners: new Set() }
      kept.set(key, keptState)
      for (const entry of since) if (kept.get(key) === keptState) apply(keptState, entry)
      evict(kept, maxKeys)
      return keptState
    } finally {
      opening.delete(key)
    }
  }

  return {
    follower,

    /** Sequence number of the last event. @param {KeyState} keyState */
    seqOf: ({ fields }) => Number(fields[rules.names.seq]),

    /** As queries and streams show it. @param {KeyState} keyState */
    storedOf: (keyState) => storedOf(keyState, rules.names),

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
      const keptState = kept.get(key)
      const read = () => opening.get(key)?.reading ?? load(key)
      if (keptState === undefined) return read()
      kept.delete(key)
      kept.set(key, keptState)
      // without its outbox it stays as it is, and serves only while no node can be asked
      return follower.ageMs(keptState.partition) === Infinity ? read().catch(() => keptState) : keptState
    },

    /**
     * Calls back after each change of a key in memory, and when it is no longer there.
     * @param {string} key @param {() => void} listener @returns {() => void} ends it
     */
    watch (key, listener) {
      const keptState = kept.get(key)
      if (!keptState) return () => {}
      keptState.pins++
      keptState.listeners.add(listener)
      return () => { if (keptState.listeners.delete(listener)) keptState.pins-- }
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

/**
 * Reads a key from a node: its state, its newest events, and the end of its outbox, in one script.
 *
 * The outbox is followed on another connection, perhaps to another replica. So a read counts only if its node is as far as the outbox
 * was; a replica that lags is asked again, then the primary. A key that a replica does not have is looked up at the primary, together with
 * others (store/lookups.js).
 *
 * @typedef {import('./rules.js').Fields} Fields
 * @typedef {{ key: string, partition: number, generation: string, fields: Fields, events: Fields[] }} KeyState `events`: the newest, the
 *   oldest of them first
 */

const READ_AGAIN_MS = 5
const MAX_READS = 40

/**
 * @param {{ connectionOf: (partition: number, isPrimary: boolean) => import('../store/index.js').Connection,
 *   keyOf: (partition: number) => (part: string) => string, partitionOf: (key: string) => number, tail: number,
 *   exists: string, lookUp?: import('../store/index.js').LookUp }} parts `tail`: events; `exists`: a field that each state has; `lookUp`:
 *   without it, a key that is absent is read from the primary
 */
function createKeyReader ({ connectionOf, keyOf, partitionOf, tail, exists, lookUp }) {
  /** @param {string} key @param {number} partition @param {boolean} isPrimary */
  async function readOnce (key, partition, isPrimary) {
    const part = keyOf(partition)
    const keys = [`state:${key}`, `events:${key}`, 'outbox', 'generation'].map(part)
    const [state, events, ends, generation] = await connectionOf(partition, isPrimary).runScript('read-key', keys, [tail])
    const fields = fieldsOf(state)
    return {
      end: ends.length > 0 ? String(ends[0][0]) : '0-0',
      stored: fields[exists] === undefined
        ? null
        : {
            key,
            partition,
            generation: generationOf(generation),
            fields,
            events: eventsOf(events).reverse()
          }
    }
  }

  /** Whether the primary has what a replica does not have. @param {string} key @param {number} partition */
  const isStored = async (key, partition) =>
    lookUp === undefined || await lookUp(['HGET', keyOf(partition)(`state:${key}`), exists]) !== null

  /**
   * @param {string} key @param {number} partition @param {boolean} isPrimary @param {string} [position]
   * @returns {Promise<{ stored: KeyState | null } | 'behind' | 'absent'>} of a replica that is behind, or has no such key
   */
  async function attempt (key, partition, isPrimary, position = '') {
    const { end, stored } = await readOnce(key, partition, isPrimary)
    if (isPrimary || (stored && isAtOrAfter(end, position))) return { stored }
    if (stored) return 'behind'
    return await isStored(key, partition) ? 'absent' : { stored: null }
  }

  /**
   * A connection that ends with the read in flight, as when its slot moves, is no answer: it is read again.
   * @param {string} key @param {string} [position] of the outbox that the node must have reached; without one the primary is asked
   * @returns {Promise<KeyState | null>} null: the primary does not have it
   */
  return async (key, position) => {
    const partition = partitionOf(key)
    let isPrimary = position === undefined
    for (let i = 0; ; i++) {
      const isLast = i === MAX_READS
      const result = await attempt(key, partition, isPrimary || isLast, position).catch((error) => {
        if (isLast || error.code !== 'SERVER_LOST') throw error
        return /** @type {const} */ ('behind')
      })
      if (typeof result !== 'string') return result.stored
      isPrimary = position === undefined || result === 'absent'
      if (result === 'behind') await sleep(READ_AGAIN_MS)
    }
  }
}
