/**
 * People of one sale, each on a connection of its own: what they send and which replies they get, until they know the outcome.
 *
 * @typedef {{ user: string, sentMs: number, answeredMs: number, code: string, seq: number | null, requests: number }} Person `code`: sold,
 *   sold_out, already_claimed, or another one of the API in small letters; times of the first request and of the outcome
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openLine as open } from '../../serving/line.js'

const WAIT_MS = 10_000
/** of a queue that people poll: a quarter of the published second, as all its times (timer.js) */
const POLL_MS = 250
const TIME_OUT_MS = 15_000
const DOUBLE_CLICKS = 0.1
const LOST_REPLIES = 0.05
const AGAIN_MS = 5
/** pause of a person whose reply says that others hold the rest, but not until when */
const HELD_MS = 25

/**
 * @typedef {{ url: URL, sale: string, user: string, mode: string, random: () => number, giveUp?: number }} Buyer
 *   `giveUp`: share of those who are admitted and then do nothing
 */

/** @param {URL} url */
async function openLine (url) {
  const line = open(url)
  await line.opened
  return line
}

/** @param {Buyer} buyer @returns {Promise<{ go: () => Promise<Person>, close: () => void }>} connected, so that all can begin at once */
export async function prepare ({ url, sale, user, mode, random, giveUp = 0 }) {
  const isDouble = random() < DOUBLE_CLICKS
  const givesUp = random() < giveUp
  const losesReply = !isDouble && random() < LOST_REPLIES
  let line = await openLine(url)
  const other = isDouble ? await openLine(url) : null
  let requests = 0

  /** Sent twice by those who click twice, and again by those who lose the reply. @param {string} path @param {string | null} [ticket] */
  async function order (path, ticket = null) {
    const send = (/** @type {typeof line} */ one) => one.post(`/v1/sales/${sale}/${path}`, `${user}-${path}`, `{"userId":"${user}"}`,
      ticket === null ? '' : `freshet-ticket: ${ticket}\r\n`)
    requests++
    if (losesReply) {
      send(line)
      await sleep(random() * AGAIN_MS)
      line.close()
      line = await openLine(url)
      requests++
    }
    if (!other) return send(line)
    requests++
    const both = await Promise.all([send(line), send(other)])
    return both.find(({ status }) => status < 300) ?? both[0]
  }

  /** @returns {Promise<{ status: number, body: any }>} */
  async function buy () {
    const beganMs = performance.now()
    if (mode === 'direct') return order('claims')
    if (mode === 'token') {
      let issued = await order('tokens')
      while (issued.body.code === 'SALE_ALL_HELD') {
        // until the first hold ends
        await sleep(issued.body.retryAfterMs ?? HELD_MS)
        issued = await order('tokens')
      }
      return issued.status === 200 ? order('claims', issued.body.token) : issued
    }
    const joined = await order('queue')
    if (joined.status !== 200) return joined
    let place = joined.body
    const { ticket } = joined.body
    const isPolled = mode === 'polled queue'
    const path = `/v1/sales/${sale}/queue/${user}?waitMs=${isPolled ? 0 : WAIT_MS}`
    const isOver = () => isPolled && performance.now() - beganMs > TIME_OUT_MS
    const isToWait = () => place.status === 'waiting' || (mode === 'queue with token' && place.status === 'admitted' && !place.token)
    while (isToWait()) {
      if (isOver()) return { status: 409, body: { code: 'timed_out' } }
      if (isPolled) await sleep(POLL_MS)
      requests++
      place = (await line.get(path, `freshet-ticket: ${ticket}\r\n`)).body
    }
    if (place.status === 'sold') return { status: 201, body: place }
    if (place.status !== 'admitted') return { status: 409, body: { code: `SALE_${place.status.toUpperCase()}` } }
    return givesUp ? { status: 409, body: { code: 'gave_up' } } : order('claims', place.token ?? ticket)
  }

  return {
    async go () {
      const sentMs = performance.now()
      const { status, body } = await buy()
      const code = status < 300 ? body.status : String(body.code ?? `status ${status}`).replace(/^SALE_/, '').toLowerCase()
      return { user, sentMs, answeredMs: performance.now(), code, seq: body.seq ?? null, requests }
    },
    close () {
      line.close()
      other?.close()
    }
  }
}
