/** Which primary has which slot, as far as is known. */
/** @typedef {import('./slot-answers.js').SlotAnswer} Answer */

/** A process keeps a connection to each primary, so redirections between two whole maps add no more. */
const MAX_ADDED = 100

/** @param {() => void} onChanged */
export function createSlotTable (onChanged) {
  let epoch = 0
  /** of nodes @type {Set<string>} */
  let ids = new Set()
  /** URL of the primary by slot; undefined = no primary has it @type {(string | undefined)[]} */
  let owners = []
  /** URLs of replicas by URL of their primary @type {Map<string, string[]>} */
  let shards = new Map()
  /** primaries that only redirections named */
  let added = 0

  return {
    /** URLs of the primaries that have slots. */
    get primaries () { return [...shards.keys()] },
    /** URLs of all nodes. */
    get nodes () { return [...shards].flat(2) },
    /** @param {string} url of a primary */
    has: (url) => shards.has(url),
    /** @param {number} slot @returns {string | undefined} URL; undefined = no primary has it */
    ownerOf: (slot) => owners[slot],
    /** URLs of the replicas of a primary. @param {string} url */
    replicasOf: (url) => shards.get(url) ?? [],

    /**
     * An answer of a lower epoch is of a node that knows less, unless it is of another cluster at the same addresses.
     * @param {Answer} found
     */
    apply (found) {
      if (found.epoch < epoch && [...found.ids].some((id) => ids.has(id))) return
      const before = JSON.stringify([owners, [...shards]])
      ;({ epoch, ids, owners, shards } = found)
      added = 0
      if (JSON.stringify([owners, [...shards]]) !== before) onChanged()
    },

    /**
     * @param {number} slot @param {string} url of a primary @returns {boolean} whether it has the slot now
     */
    move (slot, url) {
      if (owners[slot] === url) return true
      if (!shards.has(url)) {
        if (added >= MAX_ADDED) return false
        added++
        shards.set(url, [])
      }
      owners[slot] = url
      onChanged()
      return true
    },

    /** A replica took over. @param {string} before URL of its primary @param {string} after its URL */
    takeOver (before, after) {
      if (!shards.has(before) || shards.has(after)) return
      owners = owners.map((url) => url === before ? after : url)
      const replicas = /** @type {string[]} */ (shards.get(before)).filter((url) => url !== after)
      shards.delete(before)
      shards.set(after, replicas)
      onChanged()
    }
  }
}
