/**
 * A client of /live that reconnects whenever its stream ends, as EventSource does: after the retry delay it received, with the
 * last position it received. It remembers everything over all its connections, and goes round several readers.
 *
 * @typedef {ReturnType<typeof startResuming>} ResumingClient
 * @typedef {{ url: string, status: number | null, from: string, names: string[], isWhole: boolean, isOver: boolean,
 *   isToldWhen: boolean }} Visit
 *   one connection. `status` null: none was answered; `from`: the position it came with; `isWhole`: the answer came to
 *   its end; `isToldWhen`: the
 *   last it received was `retry:`
 */
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { createStandardParser } from './standard-parser.js'

const REFUSED_MS = 200
const LAST_CHARS = 40

/**
 * @param {import('tap').Test} t
 * @param {readonly string[]} urls of readers; the first, and others to go on at
 * @param {string} path behind them, with its query
 * @param {{ headers?: Record<string, string>, isReading?: boolean }} [options] `isReading` false: nothing is taken from
 *   its socket until `read`
 */
export function startResuming (t, urls, path, { headers = {}, isReading = true } = {}) {
  /** what it knows now @type {Map<string, any>} */
  const items = new Map()
  /** newest of each since the last reset @type {Map<string, number>} */
  const newestTs = new Map()
  /** @type {string[]} */
  const wentBack = []
  /** @type {string[]} */
  const resets = []
  /** @type {Visit[]} */
  const visits = []
  /** snapshots without a reset before them, for a connection that came with a position */
  let unasked = 0
  let position = ''
  let retryMs = REFUSED_MS
  const over = new AbortController()
  /** @type {import('node:http').ClientRequest | null} */
  let asking = null
  let read = () => {}

  /** @param {Visit} visit @param {import('./standard-parser.js').Message} message */
  function take (visit, { event, data }) {
    visit.names.push(event)
    const { items: some = [], reason } = JSON.parse(data)
    if (event === 'reset') {
      resets.push(reason)
      newestTs.clear()
      position = ''
    }
    if (event === 'snapshot') {
      items.clear()
      if (visit.from !== '' && !visit.names.includes('reset')) unasked++
    }
    for (const item of some) {
      const knownTs = newestTs.get(item.id) ?? -Infinity
      if (item.ts < knownTs) wentBack.push(`${item.id}: ${item.ts} after ${knownTs}, ${event}`)
      newestTs.set(item.id, item.ts ?? knownTs)
      items.set(item.id, item)
    }
  }

  /** One connection, until it is over. @param {string} url */
  const visitOnce = (url) => new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
    /** @type {Visit} */
    const visit = { url, status: null, from: position, names: [], isWhole: false, isOver: false, isToldWhen: false }
    visits.push(visit)
    const leave = () => {
      visit.isOver = true
      resolve()
    }
    asking = request(url + path, { agent: false, headers: { ...headers, ...(position !== '' && { 'last-event-id': position }) } })
    asking.once('error', leave).once('close', leave).once('response', (response) => {
      visit.status = response.statusCode ?? null
      response.on('error', () => {})
      if (visit.status !== 200) return response.resume()
      const parser = createStandardParser((message) => take(visit, message))
      let last = ''
      response.on('end', () => { visit.isWhole = response.complete })
      read = () => {
        response.on('data', (bytes) => {
          parser.push(bytes)
          // as browsers do: what has no position leaves the one before
          if (parser.lastEventId !== '') position = parser.lastEventId
          retryMs = parser.retryMs ?? retryMs
          last = (last + bytes.toString('latin1')).slice(-LAST_CHARS)
          visit.isToldWhen = /(^|\n)retry: \d+\n\n$/.test(last)
        })
      }
      if (isReading) read()
    }).end()
  })

  const going = (async () => {
    for (let n = 0; !over.signal.aborted; n++) {
      await visitOnce(urls[n % urls.length])
      const { status } = /** @type {Visit} */ (visits.at(-1))
      if (status !== null && status !== 200 && status !== 503) return
      await pause(status === 200 ? retryMs : REFUSED_MS * (1 + Math.random()), undefined, { signal: over.signal }).catch(() => {})
    }
  })()
  const close = async () => {
    over.abort()
    asking?.destroy()
    await going
  }
  t.teardown(close)

  return {
    items,
    wentBack,
    resets,
    visits,
    get unasked () { return unasked },
    /** The connection it has now, or had last. */
    get visit () { return /** @type {Visit} */ (visits.at(-1)) },
    get position () { return position },
    /** From now on it takes what it is sent. */
    read () {
      if (isReading) return
      isReading = true
      read()
    },
    close
  }
}
