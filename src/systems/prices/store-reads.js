/** Newest prices in the history store, for requests: those asked for in one turn of the event loop share a read. */

/** Most assets that wait at a time; beyond it the store is not asked. */
const MAX_WAITING = 1000

/** @typedef {import('./store/index.js').StoredPrice} Row */

/** @param {Pick<import('./queries.js').Store, 'latest'>} store */
export function createStoreReads (store) {
  /** @type {Map<string, ((row: Row | undefined) => void)[]>} by asset */
  let waiting = new Map()

  async function read () {
    const asked = waiting
    waiting = new Map()
    const rows = await store.latest([...asked.keys()])
    for (const [asset, all] of asked) for (const resolve of all) resolve(rows.get(asset))
  }

  /** @param {string} asset @returns {Promise<Row | undefined>} */
  return async (asset) => {
    const { size } = waiting
    if (size >= MAX_WAITING) return undefined
    return new Promise((resolve) => {
      waiting.set(asset, [...waiting.get(asset) ?? [], resolve])
      if (size === 0) setImmediate(read)
    })
  }
}
