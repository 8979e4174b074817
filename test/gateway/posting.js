/**
 * Clients of a gateway that retry as documented: each sends its items, sends the same ones again as long as the answer is 503
 * or none comes, and goes on a moment after it is 200. What they intended and what was acknowledged to them is in a ledger.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createLedger } from '../faults/ledger/ledger.js'
import { storedOn } from '../faults/ledger/stored.js'
import { eventually } from '../servers.js'

const CLIENTS = 6
const ITEMS = 20
const SPAN = 2_000_000
/** Between the requests of a client: something is always under way. */
const NEXT_MS = 20

/** @typedef {ReturnType<typeof startPosting>} Posting */

/**
 * @param {import('tap').Test} t
 * @param {{ post: (path: string, body: any) => Promise<{ status: number, json: any }> }} gateway feed `latest` is written
 */
export function startPosting (t, { post }) {
  const ledger = createLedger()
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  /** @type {Record<string, number>} other answers than 200, by code */
  const others = {}
  /** @type {string[]} answers that no client may get here */
  const wrong = []

  /** @param {number} client */
  async function work (client) {
    for (let from = client * SPAN; !stop.signal.aborted; from += ITEMS) {
      const items = Array.from({ length: ITEMS }, (_, i) => ({ id: String(from + i), ts: Date.now(), value: from + i }))
      ledger.intend(from, from + ITEMS)
      while (!await isTaken(items)) await pause(NEXT_MS)
      ledger.acknowledge(from, from + ITEMS)
      await pause(NEXT_MS)
    }
  }

  /** @param {object[]} items */
  async function isTaken (items) {
    const { status, json } = await post('/v1/feeds/latest/items', items).catch(() => ({ status: 0, json: null }))
    if (status === 200 && json.accepted === items.length) return true
    others[json?.code ?? status] = (others[json?.code ?? status] ?? 0) + 1
    if (status !== 0 && status !== 503) wrong.push(`${status} ${JSON.stringify(json)}`)
    return false
  }
  const working = Array.from({ length: CLIENTS }, (_, client) => work(client))

  return {
    others,
    wrong,
    /** Resolves when so many more items have been acknowledged. @param {number} more */
    acknowledged (more) {
      const target = ledger.acknowledged + more
      return eventually(() => ledger.acknowledged >= target, { deadlineMs: 60_000 })
    },
    /** Resolves when every client has got its last 200. */
    async finish () {
      stop.abort()
      await Promise.all(working)
    },
    /** @param {{ url: string }} server @param {string} layout */
    compare: async (server, layout) => ledger.compare(await storedOn(t, server, { layout }))
  }
}
