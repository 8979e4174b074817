/**
 * A handful of auctions that follow one another, and a crowd that bids on them, more often on older ones. Bidders know the last reply.
 */
import { createCrowdClient } from 'freshet-feed/systems'

const LOTS = ['brass telescope', 'road bicycle', 'oak desk', 'film camera', 'sailing boat', 'upright piano', 'wall clock', 'signed print']
const AT_ONCE = 5
const BIDDERS = 40
/** The rate of bids of all auctions together. */
const BIDS_PER_SECOND = 12
const MIN_OPEN_MS = 40_000
const MAX_OPEN_MS = 100_000
/** How long auctions of a demo without a crowd are open. */
const QUIET_OPEN_MS = 3_600_000
const SOFT_CLOSE_MS = 5000
const RETRY_MS = 1000

/** @typedef {{ id: string, minNext: number, closeAt: number }} Lot in euros, ms since 1970 */

/**
 * @param {Parameters<typeof createCrowdClient>[0] & { isActive: boolean, print: (line: string) => void }} options
 */
export async function runCrowd ({ isActive, print, ...target }) {
  const { signal } = target
  const { send, pause, userOf } = createCrowdClient(target)
  let n = 0
  let isPrinted = false
  /** @type {Lot[]} */
  const lots = []

  /** @returns {Promise<Lot>} */
  async function open () {
    const name = LOTS[n++ % LOTS.length].replaceAll(' ', '-')
    const startPrice = 20 + 10 * Math.floor(Math.random() * 15)
    const openMs = isActive ? MIN_OPEN_MS + Math.random() * (MAX_OPEN_MS - MIN_OPEN_MS) : QUIET_OPEN_MS
    const closeAt = Math.round(Date.now() + openMs)
    const id = `${name}-${Date.now().toString(36)}${n}`
    const reserve = n % 2 ? {} : { reserve: 2 * startPrice }
    const { status, reply } = await send('PUT', `/v1/auctions/${id}`, {
      body: { startPrice, minIncrement: 1, closeAt, softCloseMs: SOFT_CLOSE_MS, currency: 'EUR', ...reserve }
    })
    if (status !== 201) throw new Error(reply.detail)
    return { id, minNext: startPrice, closeAt }
  }

  /** @param {Lot} lot @returns {Promise<boolean>} whether it is still open */
  async function bid (lot) {
    const amount = Math.round(100 * (lot.minNext + (Math.random() < 0.3 ? 0 : Math.random() * 2))) / 100
    const body = { userId: userOf(Math.floor(Math.random() * BIDDERS)), amount }
    const { status, reply } = await send('POST', `/v1/auctions/${lot.id}/bids`, { body })
    if (reply.minNext) lot.minNext = Number(reply.minNext)
    if (reply.closeAt) lot.closeAt = reply.closeAt
    return status !== 410
  }

  while (!signal.aborted) {
    try {
      for (const lot of lots) if (lot.closeAt < Date.now()) lots.splice(lots.indexOf(lot), 1)
      while (lots.length < AT_ONCE) lots.push(await open())
      if (!isPrinted) print(`${AT_ONCE} auctions, ${isActive ? `${BIDDERS} bidders, ${BIDS_PER_SECOND} bids/s` : 'no bids'}`)
      isPrinted = true
      // older auctions get more bids
      const lot = isActive ? lots[Math.floor(AT_ONCE * Math.random() ** 2)] : null
      if (lot && !await bid(lot)) lots.splice(lots.indexOf(lot), 1)
      await pause(2 * Math.random() * 1000 / BIDS_PER_SECOND)
    } catch {
      // the gateway is stopping, or its servers are down
      await pause(RETRY_MS)
    }
  }
}
