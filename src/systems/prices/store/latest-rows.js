/**
 * The rows LATEST: at most one update a second for each asset. Of prices that come faster the newest is kept and written when its time
 * has come; what a killed process kept is lost, and the next price of the asset makes up for it.
 *
 * @typedef {import('./rows.js').Item} Item
 */
import { isNewer, textOf } from './rows.js'

const EVERY_MS = 1000
const LOOK_MS = 100
const AT_ONCE = 16

/** @param {{ put: (row: Item) => Promise<unknown> }} parts `put` a row, unless the table has a newer one */
export function createLatestRows ({ put }) {
  /** @type {Map<string, Item>} history rows by asset */
  const waiting = new Map()
  /** @type {Map<string, number>} by asset, oldest first */
  const sentMs = new Map()
  /** @type {NodeJS.Timeout | undefined} */
  let timer
  let isClosed = false

  /** @param {Item} row */
  function wait (row) {
    const asset = textOf(row.asset)
    const other = waiting.get(asset)
    if (!other || isNewer(row, other)) waiting.set(asset, row)
  }

  /** @param {string} asset */
  async function send (asset) {
    const row = waiting.get(asset)
    // another partition's write, or the timer, has sent it
    if (row === undefined) return
    waiting.delete(asset)
    sentMs.delete(asset)
    sentMs.set(asset, performance.now())
    try {
      await put(row)
    } catch (error) {
      if (error.retryable) wait(row)
      throw error
    }
  }

  /** Until one fails; the rest waits. @param {string[]} assets @returns {Promise<Error | null>} */
  async function sendAll (assets) {
    /** @type {Error | null} */
    let failure = null
    const queue = assets.values()
    await Promise.all(Array.from({ length: AT_ONCE }, async () => {
      for (const asset of queue) {
        await send(asset).catch((error) => { failure = error })
        if (failure) return
      }
    }))
    return failure
  }

  function due () {
    const before = performance.now() - EVERY_MS
    for (const [asset, ms] of sentMs) {
      if (ms > before) break
      sentMs.delete(asset)
    }
    return [...waiting.keys()].filter((asset) => !sentMs.has(asset))
  }

  function look () {
    clearTimeout(timer)
    if (waiting.size === 0 || isClosed) return
    // failures are counted where they happen; the rows wait for the next look
    timer = setTimeout(() => sendAll(due()).then(look), LOOK_MS)
  }

  return {
    /** @param {Iterable<Item>} rows @returns {Promise<void>} what is due is written @throws what failed; that is tried again later */
    async write (rows) {
      for (const row of rows) wait(row)
      const failure = await sendAll(due())
      look()
      if (failure) throw failure
    },

    /** Writes what waits, due or not. */
    async close () {
      isClosed = true
      clearTimeout(timer)
      await sendAll([...waiting.keys()])
    }
  }
}
