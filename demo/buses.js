/**
 * The values of the synthetic source: positions of buses on closed lines, with the number of the item at the end.
 *
 *     {"line":"M14","lat":52.53180,"lon":13.41963,"speedKmh":31,"notice":"On time","trip":"1c9e40d7..","n":42}
 *     -------------------------------------- one of 4,096 rows --------------------------------   number
 *
 * The positions and notices of all lines are rendered once, as bytes; the id of the trip is as long as the size of the value asks for. An
 * item costs one copy of a row, and an increment of the number in place; nothing is allocated.
 */
import { createHash } from 'node:crypto'
import { makeValue } from '../src/synthetic.js'

const LINES = 16
/** positions of a line */
const STEPS = 256
/** steps between consecutive buses of a line; no divisor of STEPS */
const APART = 37
const CENTRE = { lat: 52.52, lon: 13.405 }
/** of the lines in turn, so short that values of 128 bytes hold them */
const NOTICES = ['No stop at Zoo until 6 pm', 'Lift at Town Hall is broken', 'Every 5 minutes today', 'On time',
  'Detour until Sunday']
const BEFORE_NOTICE = ',"notice":"'
const BEFORE_TRIP = '","trip":"'
const ZERO = 48
const NINE = 57

/** @param {number | string} number */
const tailOf = (number) => `","n":${number}}`
/** Covers the tail with the longest number. */
const TAIL_BYTES = tailOf(Number.MAX_SAFE_INTEGER).length

/** Shorter values are those of src/synthetic.js. */
export const BUS_BYTES = (rowOf(0, 52, 13, 30) + BEFORE_NOTICE + BEFORE_TRIP).length + TAIL_BYTES

const NOTICE_BYTES = Math.max(...NOTICES.map(({ length }) => length))

/** @param {number} line @param {number} lat @param {number} lon @param {number} speedKmh two digits @returns {string} of constant length */
function rowOf (line, lat, lon, speedKmh) {
  return `{"line":"M${line + 10}","lat":${lat.toFixed(5)},"lon":${lon.toFixed(5)},"speedKmh":${Math.round(speedKmh)}`
}

/** @param {number} line @returns {string[]} an ellipse around the centre, at varying speed */
function rowsOf (line) {
  const speeds = Array.from({ length: STEPS }, (_, step) => 31 + 18 * Math.sin(step / STEPS * 2 * Math.PI * (5 + line % 7) + line))
  const total = speeds.reduce((sum, speed) => sum + speed, 0)
  const size = 0.4 + (line * 11 % LINES) / LINES
  let driven = 0
  return speeds.map((speed) => {
    driven += speed
    const angle = 2 * Math.PI * driven / total
    return rowOf(line, CENTRE.lat + 0.028 * size * Math.sin(angle), CENTRE.lon + 0.045 * size * Math.cos(angle - line % 4 * 0.2), speed)
  })
}

/** @param {number} line @returns {string} hexadecimal */
const tripOf = (line) => createHash('sha256').update(`M${line + 10}`).digest('hex')

/**
 * @param {number} noticeBytes of the notice and the beginning of the trip
 * @returns {Buffer[]} the row of line l at step s is at index s * LINES + l
 */
function renderRows (noticeBytes) {
  const lines = Array.from({ length: LINES }, (_, line) => {
    const notice = NOTICES[line % NOTICES.length].slice(0, noticeBytes)
    const rest = BEFORE_NOTICE + notice + BEFORE_TRIP + tripOf(line).slice(0, noticeBytes - notice.length)
    return rowsOf(line).map((row) => Buffer.from(row + rest))
  })
  return Array.from({ length: STEPS }, (_, step) => lines.map((rows) => rows[step])).flat()
}

/**
 * One value that changes in place: each `change` makes it that of the next bus, in rotation, one step further in each round.
 * @param {number} bytes
 * @param {{ index: number, buses: number, isMoving: boolean }} writer `index` of the writer, which has so many buses; not
 *   `isMoving`: each round repeats the first
 * @returns {{ value: Buffer, change: () => void }} before the first `change` the number is 0
 */
export function makeBuses (bytes, { index, buses, isMoving }) {
  if (bytes < BUS_BYTES) return makeValue(bytes, index, isMoving ? Infinity : buses)
  const rows = renderRows(Math.min(bytes - BUS_BYTES, NOTICE_BYTES))
  const value = Buffer.alloc(bytes, tripOf(index))
  value.set(rows[0])
  const start = Buffer.from(value.subarray(bytes - TAIL_BYTES))
  const last = bytes - 2
  let first = last
  let number = 0
  let bus = 0
  let line = index % LINES
  let round = 0
  let step = 0

  function writeTail () {
    const tail = tailOf(number)
    first = bytes - tail.length + tailOf('').length - 1
    value.write(tail, bytes - tail.length)
  }
  writeTail()

  function startRound () {
    bus = 0
    line = index % LINES
    if (isMoving) round = (round + 1) % STEPS
    else {
      number = 0
      value.set(start, bytes - TAIL_BYTES)
      writeTail()
    }
    step = round
  }

  function increment () {
    number++
    for (let at = last; at >= first; at--) {
      if (value[at] !== NINE) {
        value[at]++
        return
      }
      value[at] = ZERO
    }
    // it has one more digit
    writeTail()
  }

  function change () {
    if (bus === buses) startRound()
    value.set(rows[step * LINES + line])
    increment()
    bus++
    if (++line === LINES) {
      line = 0
      step = (step + APART) % STEPS
    }
  }
  return { value, change }
}
