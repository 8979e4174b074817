/**
 * Versions of ids that changed or were read lately, of one feed. They are kept for a second or two, or until there is not enough room: what
 * is not kept is read again.
 *
 *     young   what came in the last second, or while there was room   ─┐
 *     old     what was young before                                   ─┴─▶ found; when `young` is full or a second old, `old` goes
 *
 * @typedef {ReturnType<typeof createKeptVersions>} KeptVersions
 * @typedef {import('../layouts/index.js').StoredVersion} StoredVersion
 */

const KEPT_MS = 1000
/** what a version takes beside its id and value, about */
const HEAD_BYTES = 200

/** @param {() => number} maxBytes */
export function createKeptVersions (maxBytes) {
  /** by id, as latin1 @type {Map<string, StoredVersion | null>} */
  let young = new Map()
  /** @type {typeof young} */
  let old = new Map()
  let youngBytes = 0
  let begunMs = performance.now()

  return {
    /** @param {string} id @returns {StoredVersion | null | undefined} null = nothing is stored; undefined = it is not kept */
    get (id) {
      const version = young.get(id)
      return version === undefined ? old.get(id) : version
    },

    /** @param {string} id @param {StoredVersion | null} version */
    put (id, version) {
      if (youngBytes > maxBytes() / 2 || performance.now() - begunMs > KEPT_MS) {
        old = young
        young = new Map()
        youngBytes = 0
        begunMs = performance.now()
      }
      young.set(id, version)
      youngBytes += HEAD_BYTES + (version?.value.length ?? 0)
    },

    /** @param {string} id */
    drop (id) {
      young.delete(id)
      old.delete(id)
    },

    clear () {
      young.clear()
      old.clear()
      youngBytes = 0
    }
  }
}
