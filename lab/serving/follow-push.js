/**
 * Clients of push: each has one stream of server-sent events, opened before the window and kept to the end.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createLatencies } from './latencies.js'
import { openStream, readEvent } from './event-stream.js'

/** streams opened at a time */
const CONCURRENCY = 25
const BETWEEN_MS = 10
/** A stream that has not begun by then has failed. */
const BEGUN_WITHIN_MS = 5000
const POLL_MS = 20
const NAME_AT = 'event: '.length
const FIRST = 'e'.charCodeAt(0)
/** how a message of Centrifugo begins, up to what was published */
const PUBLISHED = Buffer.from('data: {"channel":"lab","pub":{"data":')
const LF = 10

/** @typedef {'items' | 'snapshot' | 'reset' | 'other'} Kind */

/** By the first line alone, which is cheap. @param {Buffer} event @returns {Kind} */
function kindOf (event) {
  if (event[0] !== FIRST) return event.indexOf(PUBLISHED) === 0 ? 'items' : 'other'
  const name = event.toString('latin1', NAME_AT, event.indexOf(LF))
  return name === 'items' || name === 'snapshot' || name === 'reset' ? name : 'other'
}

/** The last event of each client that is not read in the window: it shows at the end what the client has. */
function createUnread () {
  /** @type {Map<number, Buffer>} */
  let events = new Map()
  return {
    /** @param {number} client @param {Buffer} event */
    keep (client, event) {
      const kept = events.get(client)
      if (kept?.length === event.length) event.copy(kept)
      else events.set(client, Buffer.from(event))
    },

    /** @param {number} client */
    drop: (client) => events.delete(client),

    take () {
      const taken = events
      events = new Map()
      return taken
    }
  }
}

/**
 * @param {{ urls: string[], followers: import('./followers.js').AllFollowers, bytes: number | null, now: () => number }} options
 *   `urls`: one for each client; `bytes` of every event, where they are known; `now`: ms since 1970
 */
export function startPush ({ urls, followers, bytes: dueBytes, now }) {
  const requests = {
    planned: urls.length, sent: 0, answered: 0, errors: 0, timeouts: 0, byStatus: /** @type {Record<string, number>} */ ({})
  }
  const latencies = createLatencies()
  /** @type {{ [why: string]: number }} */
  const ended = {}
  const [begun, unread] = [new Set(), createUnread()]
  let settled = 0
  let open = 0

  /** @param {string} url @param {number} client */
  function openOne (url, client) {
    const sentMs = now()
    let status = 0
    requests.sent++
    openStream(url, {
      status (received) {
        status = received
        if (status === 200) open++
      },
      event (event) {
        const kind = kindOf(event)
        const receivedMs = now()
        if (kind === 'items' || kind === 'snapshot') {
          if (!begun.has(client)) begin(client, status, receivedMs - sentMs)
          take(client, event, kind, receivedMs)
        } else if (kind === 'reset') followers.reset(client)
      },
      end (why) {
        if (status === 200) {
          open--
          ended[why] = (ended[why] ?? 0) + 1
        }
        if (begun.has(client)) return
        settled++
        if (status > 0 && status !== 200) answered(status)
        else requests.errors++
        followers.wrong(why)
      }
    })
  }

  /** @param {number} client @param {number} status @param {number} ms */
  function begin (client, status, ms) {
    begun.add(client)
    settled++
    answered(status)
    latencies.record(ms)
  }

  /** @param {number} status */
  function answered (status) {
    requests.answered++
    requests.byStatus[status] = (requests.byStatus[status] ?? 0) + 1
  }

  /** @param {number} client @param {Buffer} event @param {Kind} kind @param {number} receivedMs */
  function take (client, event, kind, receivedMs) {
    if (kind === 'items') followers.received(client, event.length, receivedMs)
    if (dueBytes !== null && event.length !== dueBytes) return followers.wrong(`an event of ${event.length} bytes; expected ${dueBytes}`)
    // a snapshot is what the client starts from, so it is always read
    if (kind === 'items' && !followers.wants(client)) return unread.keep(client, event)
    unread.drop(client)
    read(client, event, receivedMs)
  }

  /** @param {number} client @param {Buffer} event @param {number} receivedMs */
  function read (client, event, receivedMs) {
    try {
      const { pub, items = pub?.data.items } = JSON.parse(String(readEvent(event.toString()).data))
      if (!Array.isArray(items)) throw new Error('it has no items')
      followers.read(client, items, receivedMs)
    } catch ({ message }) {
      followers.wrong(`an invalid event: ${message}`)
    }
  }

  return {
    /**
     * Resolves when each stream has begun or failed.
     * @returns {Promise<{ requests: import('./request-loop.js').Requests,
     *   latencyMs: import('./latencies.js').Percentiles | null }>}
     */
    async opened () {
      for (const [client, url] of urls.entries()) {
        openOne(url, client)
        if (client % CONCURRENCY === CONCURRENCY - 1) await pause(BETWEEN_MS)
      }
      const untilMs = performance.now() + BEGUN_WITHIN_MS
      while (settled < urls.length && performance.now() < untilMs) await pause(POLL_MS)
      requests.timeouts = urls.length - settled
      return { requests: { ...requests, missing: requests.errors + requests.timeouts }, latencyMs: latencies.percentiles() }
    },

    /** Reads the last events of clients that were not read in the window and received nothing since. */
    readLast () { for (const [client, event] of unread.take()) read(client, event, now()) },

    /** How many streams are open, and why others ended. */
    state: () => ({ open, ended })
  }
}
