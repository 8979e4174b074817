/** Which primary has which slot, as far as is known. */
import { MAX_NODES } from './slot-answers.js'

/** @typedef {import('./slot-answers.js').SlotAnswer} Answer */

/** @param {() => void} onChanged */
export function createSlotTable (onChanged) {
  let epoch = 0
  /** of nodes @type {Set<string>} */
  let ids = new Set()
  /** URL of the primary by slot; undefined = no primary has it @type {(string | undefined)[]} */
  let owners = []
  /** URLs of replicas by URL of their primary @type {Map<string, string[]>} */
  let shards = new Map()

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
      if (JSON.stringify([owners, [...shards]]) !== before) onChanged()
    },

    /**
     * Redirections to ever more servers must not fill the memory between two answers with the whole map.
     * @param {number} slot @param {string} url of a primary @returns {boolean} whether it is in the map now
     */
    move (slot, url) {
      if (owners[slot] === url) return true
      if (!shards.has(url) && shards.size >= MAX_NODES) return false
      owners[slot] = url
      if (!shards.has(url)) shards.set(url, [])
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
