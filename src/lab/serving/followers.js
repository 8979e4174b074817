/**
 * All clients that follow a feed, and what came to them in the window. Every event of every client is counted, by number and
 * bytes. What is in it is read of so many clients as the process can do beside, the same ones all the time, so that what
 * they are told can be held against what they knew; when the window is over, of all.
 */
import { build } from 'hdr-histogram-js'
import { createWriter } from '../acknowledged.js'
import { percentilesOf } from './asking.js'
import { flowOf, idsOf, nameOf } from './flow.js'
import { createFollowed } from './followed.js'
import { numberIn } from './workload.js'

/** Reading an item takes about a microsecond: a twentieth of a core. */
export const READ_ITEMS_A_SECOND = 50_000
const MICROS = 1000
const MAX_MICROS = 3600 * 1000 * MICROS
/** values of one client are looked at so often */
const LOOK_EVERY_MS = 100

/**
 * @typedef {object} Order
 * @property {'push' | 'poll'} asks
 * @property {number} connections
 * @property {number} [idsEach] absent: each follows all
 * @property {number} [maxRate] of push
 * @property {number} everyMs of poll
 * @property {number} ratePerSecond items of the feed
 * @property {import('./workload.js').Workload} workload
 * @property {boolean} isConstant all are sent the same over and over: nothing is looked for in it but times
 *
 * @typedef {import('./followed.js').Item} Item
 * @typedef {ReturnType<typeof createFollowers>} AllFollowers
 */

/** @param {Order} order @returns {number} every how many-th client is read in the window */
export function readEvery ({ asks, connections, idsEach, maxRate, everyMs, ratePerSecond, workload: { ids } }) {
  const itemsPerSecond = asks === 'push'
    ? flowOf({ connections, idsEach, ids, maxRate, ratePerSecond }).itemsPerSecond
    : (idsEach ?? ids) * 1000 / everyMs
  return Math.max(1, Math.ceil(connections * itemsPerSecond / READ_ITEMS_A_SECOND))
}

/** @param {Order} order */
export function createFollowers (order) {
  const { connections, idsEach, isConstant, workload: { ids, writers, valueBytes } } = order
  const every = readEvery(order)
  const each = Array.from({ length: connections }, (_, place) => {
    const ats = idsOf(isConstant ? 0 : place, { connections, idsEach, ids })
    return { ats, followed: createFollowed(ats.map(nameOf)), events: 0, heardMs: NaN }
  })
  const [delays, newest, between] = [histogram(), histogram(), histogram()]
  const counts = { events: 0, bytes: 0, readEvents: 0, items: 0, resets: 0 }
  const found = { looked: 0, wrong: 0, detail: /** @type {string | null} */ (null) }
  let isCounting = false
  let isReadWhole = false
  let lookedMs = -Infinity

  /** @param {string | null} fault */
  function look (fault) {
    found.looked++
    if (fault === null) return
    found.wrong++
    found.detail ??= fault
  }

  /** Whether values are what was written for their ids. @param {typeof each[0]} client */
  function faultOfValues ({ ats, followed: { ids: names, values } }) {
    const wrong = ats.findIndex((at, slot) => values[slot] !== '' && !isOf(at, values[slot]))
    return wrong < 0 ? null : `${names[wrong]} has a value that was not written for it`
  }

  /** @param {number} at @param {string} value base64 */
  function isOf (at, value) {
    const read = numberIn(value)
    if (read === null || read.writer !== at % writers || Buffer.byteLength(value, 'base64') !== valueBytes) return false
    const writer = createWriter(0, read.writer, writers, ids)
    return (read.number - 1) % writer.ids === Math.floor(at / writers)
  }

  return {
    every,
    each,

    /** Whether what this client is sent is to be read. @param {number} place */
    wants: (place) => isReadWhole || place % every === 0,

    /** The window begins, or is over. @param {boolean} isOpen */
    count (isOpen) {
      isCounting = isOpen
      isReadWhole = !isOpen
      if (isOpen) for (const client of each) client.heardMs = NaN
    },

    /** An event, or an answer. @param {number} place @param {number} bytes @param {number} heardMs ms since 1970 */
    came (place, bytes, heardMs) {
      const client = each[place]
      if (isCounting) {
        counts.events++
        counts.bytes += bytes
        client.events++
        if (client.heardMs >= 0) between.recordValue(micros(heardMs - client.heardMs))
      }
      client.heardMs = heardMs
    },

    /** What is in it. @param {number} place @param {Item[]} items @param {number} heardMs */
    read (place, items, heardMs) {
      const client = each[place]
      if (isCounting) counts.readEvents++
      let least = Infinity
      const fault = client.followed.take(items, heardMs, (ms) => {
        least = Math.min(least, ms)
        if (!isCounting) return
        counts.items++
        delays.recordValue(micros(ms))
      })
      if (isCounting && least < Infinity) newest.recordValue(micros(least))
      const isDue = !isConstant && heardMs - lookedMs >= LOOK_EVERY_MS
      if (isDue) lookedMs = heardMs
      look(fault ?? (isDue ? faultOfValues(client) : null))
    },

    /** What came is no event, or none of ours. @param {string} fault */
    wrong: (fault) => look(fault),

    /** A client is told to begin anew. @param {number} place */
    reset (place) {
      counts.resets++
      each[place].followed.forget()
    },

    /** @returns {{ bytes: number, answers: typeof found, following: object }} */
    figures: () => ({
      bytes: counts.bytes,
      answers: found,
      following: {
        ...counts,
        readClients: Math.ceil(connections / every),
        mostEvents: Math.max(...each.map(({ events }) => events)),
        delayMs: percentilesOrNull(delays),
        newestMs: percentilesOrNull(newest),
        betweenMs: percentilesOrNull(between)
      }
    }),

    /**
     * How many clients' ids have the newest version that was acknowledged.
     * @param {number[]} acknowledged items of each writer
     * @returns {{ due: number, newest: number, detail: string | null, places: number[] }} `detail`: one that has not; `places` of clients that lack one
     */
    settled (acknowledged) {
      if (isConstant) return { due: 0, newest: 0, detail: null, places: [] }
      const all = acknowledged.map((count, index) => createWriter(count, index, writers, ids))
      let due = 0
      let there = 0
      /** @type {string | null} */
      let detail = null
      const places = new Set()
      for (const [place, { ats, followed: { ids: names, values } }] of each.entries()) {
        for (const [slot, at] of ats.entries()) {
          const number = all[at % writers].newest(Math.floor(at / writers))
          if (number === 0) continue
          due++
          const read = numberIn(values[slot])
          if (read?.writer === at % writers && read.number === number) there++
          else {
            detail ??= `client ${place + 1} has ${read ? `number ${read.number}` : 'nothing'} of ${names[slot]}; expected number ${number}`
            places.add(place)
          }
        }
      }
      return { due, newest: there, detail, places: [...places] }
    }
  }
}

const histogram = () => build({ lowestDiscernibleValue: 1, highestTrackableValue: MAX_MICROS, numberOfSignificantValueDigits: 3 })

/** @param {number} ms */
const micros = (ms) => Math.min(MAX_MICROS, Math.max(0, Math.round(ms * MICROS)))

/** @param {import('hdr-histogram-js').Histogram} times */
const percentilesOrNull = (times) => times.totalCount > 0 ? percentilesOf(times) : null
