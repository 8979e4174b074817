/**
 * Which ids of a feed changed, by step: for streams of all ids, which each know up to which step they have everything. Only
 * ids are kept, 200,000 of all steps together; a stream that is further behind begins anew.
 */

const REMEMBERED_IDS = 200_000

/** @typedef {ReturnType<typeof createChanges>} Changes */

export function createChanges () {
  /** @type {{ step: number, ids: readonly string[] }[]} oldest first */
  const recent = []
  let remembered = 0
  let step = 0
  /** up to it steps are forgotten */
  let forgottenTo = 0
  /** what was asked for since the last step, by where it begins @type {Map<number, readonly string[]>} */
  const asked = new Map()

  return {
    /** The newest. */
    get step () { return step },

    /** @param {readonly string[]} ids without repetition */
    add (ids) {
      recent.push({ step: ++step, ids })
      asked.clear()
      remembered += ids.length
      while (remembered > REMEMBERED_IDS && recent.length > 1) {
        const oldest = /** @type {typeof recent[0]} */ (recent.shift())
        remembered -= oldest.ids.length
        forgottenTo = oldest.step
      }
    },

    /** What changes now cannot be told step by step any more. */
    forget () {
      recent.length = 0
      remembered = 0
      asked.clear()
      forgottenTo = step
    },

    /** @param {number} upTo */
    knows: (upTo) => upTo >= forgottenTo,

    /**
     * Ids that changed behind a step, once each, in the order in which they changed last.
     * @param {number} upTo that is known
     * @returns {readonly string[]} the same array for all who ask before the next step
     */
    since (upTo) {
      const known = asked.get(upTo)
      if (known) return known
      const steps = recent.slice(recent.length - (step - upTo))
      const ids = steps.length === 1 ? steps[0].ids : inOrderOfLast(steps)
      asked.set(upTo, ids)
      return ids
    }
  }
}

/** @param {{ ids: readonly string[] }[]} steps */
function inOrderOfLast (steps) {
  /** @type {Set<string>} */
  const ids = new Set()
  for (let at = steps.length - 1; at >= 0; at--) {
    for (let i = steps[at].ids.length - 1; i >= 0; i--) ids.add(steps[at].ids[i])
  }
  return [...ids].reverse()
}
