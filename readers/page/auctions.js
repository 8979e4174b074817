/**
 * Open auctions, and one of them live: its price, the time left, the latest bids, and a form for a bid. Times are those of the server;
 * the clock of the visitor is only used to count between two of them.
 */
import { at, make, put } from './elements.js'
import { showCards, timeText, titleOf } from './auctions-list.js'
import { personName } from './person-names.js'
import { createFollower, gateway, get, newKey, repeat, say, send as sendCommand, state } from './system.js'

const LIST_EVERY_MS = 1000
const TICK_MS = 200
const SHOWN_BIDS = 12
const CHART_BIDS = 120
const SOON_MS = 10_000
/** events of one command arrive together: a bid, and the answer of a maximum */
const TOGETHER_MS = 30

/** of this visitor: the user, and how the page shows that user @type {{ user: string, masked: string | null }} */
const me = {
  user: sessionStorage.getItem('user') ?? `you-${Math.random().toString(36).slice(2, 10)}`, masked: sessionStorage.getItem('masked')
}
sessionStorage.setItem('user', me.user)

/** the auction that is shown @type {any} */
let auction = null
/** its newest bids, the newest first @type {any[]} */
let bids = []
/** server time minus that of the visitor */
let aheadMs = 0
/** the sequence number at which this visitor led, by a reply or an event; null = not since the last notice @type {number | null} */
let ledAt = null
/** @type {ReturnType<typeof setTimeout> | undefined} */
let showing

const isMine = (/** @type {string | null} */ masked) => masked !== null && masked === me.masked
const nameOf = (/** @type {string | null} */ masked) => isMine(masked) ? 'you' : masked === null ? '–' : personName(masked)

/** @param {string} id */
function follow (id) {
  if (!followEvents(id)) return
  auction = null
  ledAt = null
  put(at('notice'), '')
  say('', '')
  at('amount').value = ''
  at('max').value = ''
  for (const link of document.querySelectorAll('#open a')) link.setAttribute('aria-current', String(link.getAttribute('href') === `#${id}`))
}

const { follow: followEvents } = createFollower((id) => `/v1/auctions/${encodeURIComponent(id)}/live`, {
  snapshot (data) {
    const before = auction?.generation
    ;({ auction, bids } = data)
    // sequence numbers of generations are not comparable
    if (ledAt !== null && before !== auction.generation) ledAt = 0
    bids = bids.filter(({ by }) => by !== 'close')
    aheadMs = auction.asOf - Date.now()
    show()
  },
  bid: take,
  close: take
}, () => {
  at('auction').hidden = auction === null
  return auction === null ? 'auction not available' : 'connecting again'
})

/** @param {any} event */
function take (event) {
  const { seq, by, userId, amount, closeAt } = event
  if (!auction || seq <= auction.seq) return
  Object.assign(auction, { seq, ...(closeAt ? { closeAt } : {}) })
  if (by === 'close') closed()
  else {
    Object.assign(auction, { currentBid: amount, leader: userId, bids: auction.bids + (by === 'proxy' ? 0 : 1) })
    auction.minNext = (Number(amount) + Number(auction.minIncrement)).toFixed(2)
    if (by === 'buy') closed()
    bids = [event, ...bids].slice(0, CHART_BIDS)
  }
  if (auction.status === 'closed') show()
  else showing ??= setTimeout(show, TOGETHER_MS)
}

/** Events do not tell whether the reserve was met. */
async function closed () {
  const { id, seq } = auction
  auction.status = 'closed'
  if (auction.reserveMet === null) return
  auction.reserveMet = undefined
  try {
    const { status, reserveMet } = await get(`/v1/auctions/${encodeURIComponent(id)}?minSeq=${seq}`)
    if (auction?.id !== id || status !== 'closed') return
    auction.reserveMet = reserveMet
    show()
  } catch {
    // it stays "closed", without a result
  }
}

function show () {
  clearTimeout(showing)
  showing = undefined
  if (!auction) return
  at('auction').hidden = false
  const { id, currentBid, startPrice, currency, leader, minNext, status, bids: count, reserveMet } = auction
  const isClosed = status === 'closed'
  at('auction').classList.toggle('closed', isClosed)
  put(at('title'), titleOf(id))
  put(at('price'), currentBid ?? startPrice)
  put(at('currency'), currency)
  put(at('standing'), standing(leader, isClosed, reserveMet))
  at('standing').title = leader ?? ''
  put(at('bids'), String(count))
  put(at('next'), isClosed ? '–' : minNext)
  at('bid').hidden = gateway() === '' || isClosed
  const amount = at('amount')
  if (document.activeElement !== amount && document.activeElement !== at('max')) amount.value = minNext
  notice(leader, isClosed, reserveMet)
  at('latest').replaceChildren(...bids.slice(0, SHOWN_BIDS).map(rowOf))
  chart()
  tick()
}

/** @param {string | null} leader @param {boolean} isClosed @param {boolean | null | undefined} reserveMet undefined = not known yet */
function standing (leader, isClosed, reserveMet) {
  if (leader === null) return isClosed ? 'Closed without a bid' : 'No bid yet'
  if (!isClosed) return isMine(leader) ? 'You lead' : `${nameOf(leader)} leads`
  if (reserveMet === undefined) return 'Closed'
  return reserveMet === false ? 'Not sold: the reserve was not met' : `Sold to ${nameOf(leader)}`
}

/** @param {string | null} leader @param {boolean} isClosed @param {boolean | null | undefined} reserveMet */
function notice (leader, isClosed, reserveMet) {
  const isSold = reserveMet === null || reserveMet === true
  if (isClosed) put(at('notice'), isMine(leader) && isSold ? 'Closed: you won' : 'Closed')
  else if (isMine(leader)) {
    put(at('notice'), '')
    ledAt = auction.seq
  } else if (leader !== null && ledAt !== null && auction.seq > ledAt) {
    // until then, the stream is behind the reply
    put(at('notice'), `You were outbid: ${auction.currentBid} ${auction.currency}`)
    say('', '')
    ledAt = null
  }
}

/** @param {any} bid */
function rowOf ({ amount, userId, ts, by }) {
  const time = new Date(ts).toLocaleTimeString('en', { hourCycle: 'h23' })
  return make('tr', { className: isMine(userId) ? 'mine' : '' },
    make('td', {}, amount), make('td', { title: userId }, nameOf(userId) + (by === 'proxy' ? ' (automatic)' : '')), make('td', {}, time))
}

/** Steps of the price; the newest bid is on the right. */
function chart () {
  const prices = bids.map(({ amount }) => Number(amount)).reverse()
  const [low, high] = [Math.min(...prices), Math.max(...prices)]
  const y = (/** @type {number} */ price) => high === low ? 110 : 114 - 108 * (price - low) / (high - low)
  const stepX = 600 / Math.max(1, prices.length - 1)
  const points = prices.flatMap((price, i) => [`${i * stepX},${y(prices[Math.max(0, i - 1)])}`, `${i * stepX},${y(price)}`])
  document.querySelector('#chart polyline')?.setAttribute('points', points.join(' '))
}

function tick () {
  if (!auction) return
  const leftMs = auction.closeAt - (Date.now() + aheadMs)
  put(at('left'), auction.status === 'closed' ? 'closed' : timeText(leftMs))
  at('auction').classList.toggle('soon', auction.status !== 'closed' && leftMs < SOON_MS)
}

async function list () {
  const { items } = await get('/v1/auctions?limit=20')
  showCards(items)
  at('none').hidden = items.length > 0
  if (items.length === 0 && !location.hash) state('live', 'no auction')
  if (!location.hash && items.length > 0) location.replace(`#${items[0].id}`)
  return LIST_EVERY_MS
}

/** @param {string} id @param {object} body */
const send = (id, body) => sendCommand(`/v1/auctions/${encodeURIComponent(id)}/bids`, body, newKey())
  .catch(() => ({ status: 0, reply: { detail: 'The gateway does not answer, so the outcome is unknown. The list of bids will show it.' } }))

at('bid').addEventListener('submit', async (/** @type {SubmitEvent} */ event) => {
  event.preventDefault()
  if (!auction) return
  const { id } = auction
  const max = at('max').value.trim()
  at('amount').blur()
  const { status, reply } = await send(id, { userId: me.user, amount: at('amount').value.trim(), ...(max === '' ? {} : { max }) })
  if (reply.bidder) {
    me.masked = reply.bidder
    sessionStorage.setItem('masked', reply.bidder)
  }
  if (auction?.id !== id) return
  if (status === 201 && reply.leading) say('good', `Accepted: you lead at ${reply.currentBid}`)
  else if (status === 201) say('bad', `Accepted, but another bidder's maximum answered: ${reply.currentBid}`)
  else if (reply.code === 'max_raised') say('good', 'Your maximum was raised')
  else if (reply.code === 'self_outbid') say('', 'You lead already')
  else if (reply.code === 'too_low') say('bad', `Too low: the next bid is ${reply.minNext} or more`)
  else say('bad', reply.detail ?? 'Refused')
  if (status === 201 && reply.leading) ledAt = Math.max(ledAt ?? 0, reply.seq)
  show()
})

window.addEventListener('hashchange', () => follow(location.hash.slice(1)))
setInterval(tick, TICK_MS)
if (location.hash) follow(location.hash.slice(1))
repeat(list)
