/**
 * The rows LATEST: an asset is updated when its price is a second newer than the one written last. A price that comes sooner is skipped;
 * the next one makes up for it.
 *
 * @typedef {import('./rows.js').Item} Item
 */
import { textOf } from './rows.js'

const EVERY_MS = 1000
const AT_ONCE = 16

/** @param {{ put: (row: Item) => Promise<unknown> }} parts `put` a row, unless the table has a newer one */
export function createLatestRows ({ put }) {
  /** Time of the last price that was written, by asset; the first written first. @type {Map<string, number>} */
  const written = new Map()
  const timeOf = (/** @type {Item} */ { at }) => Number(textOf(at))

  /** @param {Item} row */
  async function update (row) {
    await put(row)
    const asset = textOf(row.asset)
    written.delete(asset)
    written.set(asset, timeOf(row))
  }

  /** @param {number} before times of prices */
  function forget (before) {
    for (const [asset, at] of written) {
      if (at > before) return
      written.delete(asset)
    }
  }

  /** @param {Item[]} rows of the history, one of each asset @throws what failed; a repetition writes the rest */
  return async function write (rows) {
    const due = rows.filter((row) => timeOf(row) - (written.get(textOf(row.asset)) ?? -Infinity) >= EVERY_MS)
    for (let i = 0; i < due.length; i += AT_ONCE) await Promise.all(due.slice(i, i + AT_ONCE).map(update))
    if (due.length > 0) forget(timeOf(due[0]) - EVERY_MS)
  }
}
