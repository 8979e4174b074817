/**
 * What a subscriber is given of a log, against what its writers had acknowledged: of each writer every item from the first
 * one that came, in order, once. The ledger leaves out what was sent again by itself (stored.js); here the product has to.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { openReader } from '../../../src/index.js'
import { eventually, openWriterFor } from '../../servers.js'
import { SPAN } from './ledger.js'

const POLL_MS = 10
const DEADLINE_MS = 60_000
/** of an item behind all others */
const END = '-1'

/** @typedef {Awaited<ReturnType<typeof subscribeTo>>} Subscriber */

/**
 * Resolves when the first item was given.
 * @param {import('tap').Test} t @param {{ url: string }} server @param {{ layout: string }} feed feed `latest`, which a run writes to
 */
export async function subscribeTo (t, { url }, { layout }) {
  const reader = await eventually(() => openReader({ redisUrl: url, readFrom: 'primary', views: 'none', deadlineMs: DEADLINE_MS }))
  const over = new AbortController()
  /** @type {number[]} */
  const given = []
  /** @type {Error | null} */
  let error = null
  const reading = (async () => {
    for await (const { id } of reader.feed('latest').subscribe({ signal: over.signal, pollMs: POLL_MS })) given.push(Number(id))
  })().catch((caught) => { error = caught })
  t.teardown(async () => {
    over.abort()
    await reading
    await reader.close()
  })
  const until = async (/** @type {() => boolean} */ isSo) => {
    while (!isSo()) {
      if (error) throw error
      await pause(POLL_MS)
    }
  }
  await until(() => given.length > 0)

  return {
    /**
     * When everything came. It appends an item of its own, so the server is compared with the ledger before.
     * @param {{ items: number }[]} accounts of the writers
     * @returns {Promise<{ given: number, twice: number[], missing: number[], early: number[] }>} `early`: before an older one of its writer
     */
    async findings (accounts) {
      const writer = await openWriterFor(t, { redisUrl: url, layout, windowMs: 86_400_000, maxItems: 0, deadlineMs: DEADLINE_MS })
      writer.pipeline.append(Buffer.from(END), Date.now(), Buffer.alloc(0))
      await writer.pipeline.flush({ deadlineMs: DEADLINE_MS })
      await until(() => given.at(-1) === Number(END))
      return compare(given.slice(0, -1), accounts)
    }
  }
}

/** @param {number[]} given in the order in which they came @param {{ items: number }[]} accounts */
function compare (given, accounts) {
  /** @type {Set<number>[]} */
  const seen = accounts.map(() => new Set())
  const newest = accounts.map(() => -1)
  const findings = {
    given: given.length, twice: /** @type {number[]} */ ([]), missing: /** @type {number[]} */ ([]), early: /** @type {number[]} */ ([])
  }
  for (const n of given) {
    const w = Math.floor(n / SPAN)
    if (seen[w].has(n)) findings.twice.push(n)
    else if (n < newest[w]) findings.early.push(newest[w])
    seen[w].add(n)
    newest[w] = Math.max(newest[w], n)
  }
  accounts.forEach(({ items }, w) => {
    const [first = Infinity] = seen[w]
    for (let n = first; n < w * SPAN + items; n++) if (!seen[w].has(n)) findings.missing.push(n)
  })
  return findings
}
