/** Parses synthetic ids (src/synthetic.js). */

/** not a synthetic id */
export const NONE = -1

const ID = Buffer.from('id-')
const MOST_DIGITS = 12
const ZERO = 48

/**
 * @param {Buffer} bytes @param {number} from @param {number} to of the id
 * @returns {number} k of `id-<k>`, or NONE
 */
export function idNumber (bytes, from, to) {
  const length = to - from
  if (length <= ID.length || length > ID.length + MOST_DIGITS || (bytes[from + ID.length] === ZERO && length > ID.length + 1)) return NONE
  for (let i = 0; i < ID.length; i++) if (bytes[from + i] !== ID[i]) return NONE
  let number = 0
  for (let i = from + ID.length; i < to; i++) {
    const digit = bytes[i] - ZERO
    if (digit < 0 || digit > 9) return NONE
    number = number * 10 + digit
  }
  return number
}

/** @param {Buffer} id @returns {number} k of `id-<k>`, or NONE */
export const numberOfId = (id) => idNumber(id, 0, id.length)
