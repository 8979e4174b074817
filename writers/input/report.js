/**
 * Reports refused records: the first few of each error code as text, the number of each code at the end, and all of them in the
 * file of --rejects.
 */
import { visible } from '../../src/runtime/index.js'

/** @typedef {import('./records.js').Entry} Entry */

/**
 * @param {object} options
 * @param {number} [options.show] number of records per code that are written as text
 * @param {string} [options.noun] unit of a place: line, or item for json
 * @param {(text: string) => void} options.write gets one line with its line end, of visible characters
 * @param {import('./rejects.js').Rejects | null} [options.rejects]
 */
export function createFaultReport ({ show = 3, noun = 'line', write, rejects = null }) {
  /** @type {Map<string, number>} by code */
  const counts = new Map()

  return {
    /** @param {Entry} entry @param {string} code @param {string} reason */
    add (entry, code, reason) {
      const count = (counts.get(code) ?? 0) + 1
      counts.set(code, count)
      if (count <= show) write(`${noun} ${entry.place}: ${code}: ${visible(reason)}\n`)
      rejects?.add({ [noun]: entry.place, code, reason }, entry.raw)
    },

    /** Whether the file takes no more before `ready`. */
    get isFull () { return rejects?.isFull ?? false },
    /** @param {AbortSignal} signal @throws {import('../../src/errors.js').FreshetError} FILE_UNUSABLE */
    ready: async (signal) => rejects?.ready(signal),

    /**
     * Writes the numbers, and resolves when the file is complete.
     * @param {(code: string) => string | null} [adviceOf] what to do about records with this code
     * @throws {import('../../src/errors.js').FreshetError} FILE_UNUSABLE
     */
    async close (adviceOf = () => null) {
      for (const [code, count] of counts) {
        const advice = adviceOf(code)
        write(`${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'} refused: ${code}${advice ? `; ${advice}` : ''}\n`)
      }
      if (!rejects && [...counts.values()].some((count) => count > show)) write('--rejects FILE writes all of them to a file\n')
      await rejects?.close()
    }
  }
}
