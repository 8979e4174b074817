/**
 * Reports bad lines: the first few in full, the others as a number.
 */
import { visible } from '../../src/runtime/index.js'

/**
 * @param {object} options
 * @param {number} [options.show] number of faults written in full
 * @param {string} [options.noun] unit of a place: line, or item for json
 * @param {(text: string) => void} options.write gets one line with its line end, of visible characters
 */
export function createFaultReport ({ show = 5, noun = 'line', write }) {
  let count = 0
  let closed = false
  return {
    /** @param {number} place @param {string} reason */
    add (place, reason) {
      count++
      if (count <= show) write(`${noun} ${place}: ${visible(reason)}\n`)
    },
    get count () {
      return count
    },
    close () {
      if (!closed && count > show) write(`and ${(count - show).toLocaleString('en')} more bad ${noun}${count - show === 1 ? '' : 's'}\n`)
      closed = true
    }
  }
}
