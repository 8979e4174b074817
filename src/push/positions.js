/** Positions: those that views have, and of those that clients send how old they are, and whether a view has reached them. */
import { checkCreation, decodeOffsets } from '../item/index.js'

/** @typedef {import('./hub.js').View} View */

/** Where a view was in a round. Streams of several feeds need it once a second (several.js), so it is encoded when it is needed. */
export class Reached {
  /** @type {{ by: string, text: string } | undefined} */
  sealed
  #encode
  /** @type {string | null} */
  #text = null

  /** @param {() => string} encode */
  constructor (encode) { this.#encode = encode }

  get position () { return (this.#text ??= this.#encode()) }
}

/**
 * Compares the age of two positions, for sorting: the oldest first.
 * @param {View} view @param {string} a @param {string} b
 */
export function compareAge ({ definition: { feed, partitions } }, a, b) {
  const oldestMs = (/** @type {string} */ text) => Math.min(...decodeOffsets(feed, text, partitions).offsets.map(({ ms }) => ms))
  return oldestMs(a) - oldestMs(b)
}

/**
 * Whether a view has everything that was sent up to a position, perhaps by another reader. Before it does, it might send
 * versions that are older than those sent.
 * @param {View} view as it is now
 * @returns {(text: string) => boolean | null} null: the position is of an earlier feed of that name, which was dropped
 */
export function reachedFrom (view) {
  const { feed, partitions } = view.definition
  const { offsets } = decodeOffsets(feed, view.position(), partitions)
  return (text) => {
    try {
      checkCreation(view.definition, text)
      return decodeOffsets(feed, text, partitions).offsets.every((offset, partition) => compareOffsets(offset, offsets[partition]) <= 0)
    } catch (error) {
      if (error.code !== 'POSITION_INVALID' && error.code !== 'POSITION_EXPIRED') throw error
      return null
    }
  }
}

/** @param {{ ms: number, n: number }} a @param {{ ms: number, n: number }} b */
export const compareOffsets = (a, b) => a.ms - b.ms || a.n - b.n
