/**
 * The synthetic workload of the lab: ids `id-0`, `id-1`, ... in rotation, each item with a value that carries its number. From
 * the number of acknowledged items follows what a server must hold. The synthetic source of `npm start writer` has readable
 * values instead (demo/buses.js).
 *
 *     writer w of W:  ids      id-<w>, id-<W + w>, id-<2W + w>, ...        N of them
 *                     item n   has the id at (n - 1) mod N, n from 1
 *                     value    {"writer":w,"n":"000000000042","pad":"xxx"}
 *                              only digits if that does not fit
 */

/** of the number in a value; shorter values have fewer digits, and their number wraps */
const DIGITS = 12
const ZERO = 48
const NINE = 57
const HEAD = Buffer.from('{"writer":')
const BETWEEN = Buffer.from(',"n":"')
const END = Buffer.from('"}')

/** The shortest value that also names its writer, for 64 writers. */
export const WHOLE_VALUE_BYTES = shellOf(63).length
/** The shortest value whose number can be read. */
export const NUMBERED_VALUE_BYTES = DIGITS

/** @param {number} index of the writer */
function shellOf (index) {
  return `${HEAD}${index}${BETWEEN}${'0'.repeat(DIGITS)}","pad":""}`
}

/** How much older a late item is; a run with late items must be shorter, or their versions would be newer than the first. */
export const LATE_MS = 10_000

/**
 * Whether items of an id are late from the second one on, so that its first version stays the newest.
 * @param {number} at index of the writer's id @param {number} lateEvery 0 = none
 */
export const isLateId = (at, lateEvery) => lateEvery > 0 && at % lateEvery === lateEvery - 1

/**
 * @param {number} distinct ids of all writers together
 * @param {number} index of this writer
 * @param {number} writers
 * @param {string} [name] what ids begin with
 * @returns {Buffer[]} ids of this writer; at least one
 */
export function makeIds (distinct, index, writers, name = 'id') {
  const mine = Array.from({ length: Math.ceil(Math.max(0, distinct - index) / writers) }, (_, i) =>
    Buffer.from(`${name}-${i * writers + index}`))
  return mine.length > 0 ? mine : [Buffer.from(`${name}-${index}`)]
}

/**
 * A value whose number is incremented in place, without allocation.
 * @param {number} bytes
 * @param {number} index of the writer
 * @param {number} [repeatAfter] the number restarts after so many values; set to the number of ids, each id always has the same value
 * @returns {{ value: Buffer, change: () => void }} before the first `change` the number is 0
 */
export function makeValue (bytes, index, repeatAfter = Infinity) {
  const shell = shellOf(index)
  const isWhole = bytes >= shell.length
  const value = Buffer.from(isWhole ? shell.replace('"pad":""', `"pad":"${'x'.repeat(bytes - shell.length)}"`) : '0'.repeat(bytes))
  const first = isWhole ? shell.indexOf('0'.repeat(DIGITS)) : 0
  const last = isWhole ? first + DIGITS - 1 : bytes - 1
  let number = 0

  function change () {
    if (number === repeatAfter) {
      value.fill(ZERO, first, last + 1)
      number = 0
    }
    number++
    for (let at = last; at >= first; at--) {
      if (value[at] !== NINE) {
        value[at]++
        return
      }
      value[at] = ZERO
    }
  }
  return { value, change }
}

/**
 * @param {Buffer} value
 * @returns {{ writer: number | null, number: number } | null} null = not a synthetic value, or too
 *   short for a full number; a value of digits only does not name its writer
 */
export function readValue (value) {
  if (value.length < DIGITS) return null
  if (value[0] !== HEAD[0]) {
    const number = digitsIn(value, 0, value.length)
    return number === null ? null : { writer: null, number }
  }
  let at = HEAD.length
  while (value[at] >= ZERO && value[at] <= NINE) at++
  const writer = digitsIn(value, HEAD.length, at)
  const from = at + BETWEEN.length
  const number = digitsIn(value, from, from + DIGITS)
  const isSynthetic = writer !== null && number !== null && holds(value, 0, HEAD) && holds(value, at, BETWEEN) &&
    holds(value, value.length - END.length, END)
  return isSynthetic ? { writer, number } : null
}

/** @param {Buffer} value @returns {number | null} its number */
export const readNumber = (value) => readValue(value)?.number ?? null

/** @param {Buffer} bytes @param {number} from @param {number} to @returns {number | null} */
function digitsIn (bytes, from, to) {
  if (to > bytes.length || from >= to) return null
  let number = 0
  for (let at = from; at < to; at++) {
    const byte = bytes[at]
    if (byte < ZERO || byte > NINE) return null
    number = number * 10 + byte - ZERO
  }
  return number
}

/** @param {Buffer} bytes @param {number} from @param {Buffer} part */
function holds (bytes, from, part) {
  for (let i = 0; i < part.length; i++) if (bytes[from + i] !== part[i]) return false
  return true
}
