/**
 * The synthetic workload: ids `id-0`, `id-1`, ... in turn and over again, each item with a value that carries its number.
 * Who knows how many items were acknowledged knows from it what a server must hold.
 *
 *     writer w of W:  ids      id-<w>, id-<W + w>, id-<2W + w>, ...        N of them
 *                     item n   has the id at (n - 1) mod N, n from 1
 *                     value    {"writer":w,"n":"000000000042","pad":"xxx"}
 *                              plain digits where that does not fit
 */

/** of the number in a value; shorter values carry fewer, and their number begins again */
const DIGITS = 12
const ZERO = 48
const NINE = 57
const HEAD = Buffer.from('{"writer":')
const BETWEEN = Buffer.from(',"n":"')
const END = Buffer.from('"}')

/** The shortest value that tells its writer as well, for 64 writers. */
export const WHOLE_VALUE_BYTES = shellOf(63).length
/** The shortest value whose number can be read. */
export const NUMBERED_VALUE_BYTES = DIGITS

/** @param {number} index of the writer */
function shellOf (index) {
  return `${HEAD}${index}${BETWEEN}${'0'.repeat(DIGITS)}","pad":""}`
}

/**
 * @param {number} distinct ids of all writers together
 * @param {number} index of this writer
 * @param {number} writers
 * @returns {Buffer[]} those of this writer; at least one
 */
export function makeIds (distinct, index, writers) {
  const mine = Array.from({ length: Math.ceil(Math.max(0, distinct - index) / writers) }, (_, i) => Buffer.from(`id-${i * writers + index}`))
  return mine.length > 0 ? mine : [Buffer.from(`id-${index}`)]
}

/**
 * A value with a number that counts up in place, so that none is allocated.
 * @param {number} bytes
 * @param {number} index of the writer
 * @param {number} [repeatAfter] so many values, then the same ones again: with the number of ids, an id always has the same
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
 * @returns {{ writer: number | null, number: number } | null} null = not one of ours, or too short for a number that does
 *   not begin again; a value of plain digits does not tell its writer
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
  const isOurs = writer !== null && number !== null && holds(value, 0, HEAD) && holds(value, at, BETWEEN) && holds(value, value.length - END.length, END)
  return isOurs ? { writer, number } : null
}

/** @param {Buffer} value @returns {number | null} the number it carries */
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
