/**
 * All clients that follow a feed, and what they received in the window. Every event of every client is counted, with its
 * bytes. In the window the contents are read for a fixed subset of clients, as many as the process can afford; after the
 * window, for all.
 */
import { createLatencies } from './latencies.js'
import { createWriter } from '../content/acknowledged.js'
import { flowOf, idsOf, nameOf } from './flow.js'
import { createFollowed } from './followed.js'
import { numberIn } from './workload.js'

/** Reading an item takes about a microsecond: a twentieth of a core. */
const READ_ITEMS_PER_SECOND = 50_000
/** between two checks of all values of one client */
const CHECK_VALUES_EVERY_MS = 100

/**
 * @typedef {object} Order
 * @property {'push' | 'poll'} asks
 * @property {number} connections
 * @property {number} [idsEach] absent: each client follows the whole feed
 * @property {number} [maxRate] of push
 * @property {number} everyMs of poll
 * @property {number} ratePerSecond items of the feed
 * @property {import('./workload.js').Workload} workload
 * @property {boolean} isConstant all clients get the same items over and over; only times are read
 *
 * @typedef {import('./followed.js').Item} Item
 * @typedef {{ ats: number[], followed: ReturnType<typeof createFollowed>, events: number, receivedMs: number }} Client `ats`: its
 *   ids, by their index in the feed
 * @typedef {ReturnType<typeof createFollowers>} AllFollowers
 */

/** @param {Order} order @returns {number} n: every n-th client is read in the window */
export function readEvery ({ asks, connections, idsEach, maxRate, everyMs, ratePerSecond, workload: { ids } }) {
  const itemsPerSecond = asks === 'push'
    ? flowOf({ connections, idsEach, ids, maxRate, ratePerSecond }).itemsPerSecond
    : (idsEach ?? ids) * 1000 / everyMs
  return Math.max(1, Math.ceil(connections * itemsPerSecond / READ_ITEMS_PER_SECOND))
}

/** @param {Order} order */
export function createFollowers (order) {
  const { connections, idsEach, isConstant, workload } = order
  const every = readEvery(order)
  /** @type {Client[]} */
  const clients = Array.from({ length: connections }, (_, client) => {
    const ats = idsOf(isConstant ? 0 : client, { connections, idsEach, ids: workload.ids })
    return { ats, followed: createFollowed(ats.map(nameOf)), events: 0, receivedMs: NaN }
  })
  const [delays, newest, between] = [createLatencies(), createLatencies(), createLatencies()]
  const counts = { events: 0, bytes: 0, readEvents: 0, items: 0, resets: 0 }
  const found = { looked: 0, wrong: 0, detail: /** @type {string | null} */ (null) }
  let isCounting = false
  let readsAll = false
  let checkedMs = -Infinity

  /** @param {string | null} fault */
  function note (fault) {
    found.looked++
    if (fault === null) return
    found.wrong++
    found.detail ??= fault
  }

  return {
    /** Whether to read what this client receives. @param {number} client */
    wants: (client) => readsAll || client % every === 0,

    /** The window begins, or is over. @param {boolean} isOpen */
    count (isOpen) {
      isCounting = isOpen
      readsAll = !isOpen
      if (isOpen) for (const client of clients) client.receivedMs = NaN
    },

    /** An event, or a response. @param {number} index of the client @param {number} bytes @param {number} receivedMs since 1970 */
    received (index, bytes, receivedMs) {
      const client = clients[index]
      if (isCounting) {
        counts.events++
        counts.bytes += bytes
        client.events++
        if (client.receivedMs >= 0) between.record(receivedMs - client.receivedMs)
      }
      client.receivedMs = receivedMs
    },

    /** Its contents. @param {number} index of the client @param {Item[]} items @param {number} receivedMs */
    read (index, items, receivedMs) {
      const client = clients[index]
      if (isCounting) counts.readEvents++
      let least = Infinity
      const fault = client.followed.take(items, receivedMs, (ms) => {
        least = Math.min(least, ms)
        if (!isCounting) return
        counts.items++
        delays.record(ms)
      })
      if (isCounting && least < Infinity) newest.record(least)
      const isDue = !isConstant && receivedMs - checkedMs >= CHECK_VALUES_EVERY_MS
      if (isDue) checkedMs = receivedMs
      note(fault ?? (isDue ? faultOfValues(client, workload) : null))
    },

    /** Something invalid was received. @param {string} fault */
    wrong: (fault) => note(fault),

    /** A client received a reset. @param {number} index */
    reset (index) {
      counts.resets++
      clients[index].followed.forget()
    },

    /** @returns {{ bytes: number, answers: typeof found, following: object }} */
    figures: () => ({
      bytes: counts.bytes,
      answers: found,
      following: {
        ...counts,
        readClients: Math.ceil(connections / every),
        mostEvents: Math.max(...clients.map(({ events }) => events)),
        delayMs: delays.percentiles(),
        newestMs: newest.percentiles(),
        betweenMs: between.percentiles()
      }
    }),

    /** @param {number[]} acknowledged items of each writer */
    settled: (acknowledged) => isConstant ? { due: 0, newest: 0, detail: null, behind: [] } : settledOf(clients, workload, acknowledged)
  }
}

/**
 * @param {Client} client
 * @param {import('./workload.js').Workload} workload
 * @returns {string | null} the first value that was not written for its id
 */
function faultOfValues ({ ats, followed: { ids: names, values } }, { ids, writers, valueBytes }) {
  const isWritten = (/** @type {number} */ at, /** @type {string} */ value) => {
    const read = numberIn(value)
    if (read === null || read.writer !== at % writers || Buffer.byteLength(value, 'base64') !== valueBytes) return false
    const writer = createWriter(0, read.writer, writers, ids)
    return (read.number - 1) % writer.ids === Math.floor(at / writers)
  }
  const wrong = ats.findIndex((at, i) => values[i] !== '' && !isWritten(at, values[i]))
  return wrong < 0 ? null : `${names[wrong]} has a value that was not written for it`
}

/**
 * How many ids of clients are at the newest acknowledged version.
 * @param {Client[]} clients @param {import('./workload.js').Workload} workload @param {number[]} acknowledged items of each writer
 * @returns {{ due: number, newest: number, detail: string | null, behind: number[] }} `detail`: one that is not; `behind`: its clients
 */
function settledOf (clients, { ids, writers }, acknowledged) {
  const all = acknowledged.map((count, index) => createWriter(count, index, writers, ids))
  let due = 0
  let newest = 0
  /** @type {string | null} */
  let detail = null
  const behind = new Set()
  for (const [client, { ats, followed: { ids: names, values } }] of clients.entries()) {
    for (const [i, at] of ats.entries()) {
      const number = all[at % writers].newest(Math.floor(at / writers))
      if (number === 0) continue
      due++
      const read = numberIn(values[i])
      if (read?.writer === at % writers && read.number === number) newest++
      else {
        detail ??= `client ${client + 1} has ${read ? `number ${read.number}` : 'nothing'} of ${names[i]}; expected number ${number}`
        behind.add(client)
      }
    }
  }
  return { due, newest, detail, behind: [...behind] }
}
