/**
 * The current sale: its stock, its queue, who got one, and a form to take part. `#id` shows that sale; otherwise the page goes on to
 * the next one when it opens. Times are those of the server; the clock of the visitor only counts between two of them.
 */
import { timeText, titleOf } from './auctions-list.js'
import { at, make, put } from './elements.js'
import { personName } from './person-names.js'
import { takePart } from './sales-person.js'
import { CLAIM_WORDS, howOf, MODES, PRESS, STATUS_WORDS, TAKE_PART } from './sales-words.js'
import { createFollower, gateway, get, getAll, newKey, repeat, say, state } from './system.js'
import { duration, number, timeOfDay } from './text.js'

const LIST_EVERY_MS = 500
const CLAIMS_EVERY_MS = 500
const TICK_MS = 200
const SHOWN_CLAIMS = 14
const OVER = ['sold_out', 'closed']
const LOST = ['expired', 'released', 'revoked']
const GOT = ['sold', 'pending']

/** the sale that is shown, the one that opens next, and the one before @type {any} */
let [sale, next, previous] = [null, null, null]
/** whether the stream of the sale has begun; until then it is shown as lists have it */
let isStreamed = false
/** server time minus that of the visitor */
let aheadMs = 0
/** by sale: the time to sell out, if this page saw it @type {Map<string, number>} */
const soldMs = new Map()
/** what this visitor takes part in @type {{ sale: string, claim: string | null, over: AbortController } | null} */
let mine = null
/** @type {ReturnType<typeof setTimeout> | undefined} */
let reading

const now = () => Date.now() + aheadMs
const wanted = () => decodeURIComponent(location.hash.slice(1))
/** Not while a press has no outcome yet; and a unit of this sale is not asked for twice, since its claim would be lost from the page. */
const mayPress = () => mine === null || (mine.over.signal.aborted && (mine.claim === null || mine.sale !== target()?.id))
/** the sale that the form is for */
const target = () => sale && OVER.includes(sale.status) && next && !wanted() ? next : sale

const { follow: followEvents } = createFollower((id) => `/v1/sales/${encodeURIComponent(id)}/live`, { sale: takeEvent },
  () => sale === null ? 'sale not available' : 'connecting again')

/** @param {any} newest */
function takeEvent (newest) {
  isStreamed = true
  take(newest)
}

/** @param {any} newest */
function take (newest) {
  if (sale?.status === 'open' && newest.status === 'sold_out') soldMs.set(newest.id, newest.asOf - newest.openAt)
  if (newest.seq !== sale?.seq) reading ??= setTimeout(claims, sale === null ? 0 : CLAIMS_EVERY_MS)
  sale = newest
  aheadMs = sale.asOf - Date.now()
  show()
}

function show () {
  at('sale').hidden = false
  const { id: saleId, stock, available, held, sold, mode, status, openAt, queued, waiting = null } = sale
  const isQueue = mode === 'queue'
  put(at('title'), `${titleOf(saleId)}, ${number(stock)} units ${MODES[mode]}${openAt ? ` at ${timeOfDay(openAt)}` : ''}: ` +
    (STATUS_WORDS[status] ?? status) + timeOf(saleId))
  for (const [id, n] of Object.entries({ left: available, stock, sold, held, available, queued, waiting })) put(at(id), number(n))
  for (const [id, n] of Object.entries({ sold, held, available })) at(`bar-${id}`).style.flexGrow = String(n)
  put(at('held-name'), isQueue ? 'Admitted, deciding' : 'Held')
  put(at('waiting-name'), status === 'sold_out' ? 'Without a unit' : 'Waiting')
  for (const element of document.querySelectorAll('.of-queue')) /** @type {HTMLElement} */ (element).hidden = !isQueue
  tick()
}

/** @param {string} id */
const timeOf = (id) => soldMs.has(id) ? ` in ${duration(soldMs.get(id) ?? 0).replace(' ', '\u00a0')}` : ''

/** All claims, since those of a moment ago may have changed. */
async function claims () {
  reading = undefined
  const { id } = sale
  try {
    const all = await getAll(`/v1/sales/${encodeURIComponent(id)}/claims`)
    if (sale?.id !== id) return
    put(at('lost'), number(all.filter(({ status }) => LOST.includes(status)).length))
    const got = all.filter(({ status }) => GOT.includes(status))
    at('claims').replaceChildren(...got.map((claim, i) => rowOf(claim, i + 1)).slice(-SHOWN_CLAIMS).reverse())
  } catch {
    // the next event reads them again
  }
}

/** @param {any} claim @param {number} rank among those who got one, from 1 */
function rowOf ({ claimId, userId, status }, rank) {
  const isMine = claimId === mine?.claim
  const className = isMine ? 'mine' : ''
  return make('tr', { className },
    make('td', {}, number(rank)), make('td', { title: userId }, isMine ? 'you' : personName(userId)), make('td', {}, CLAIM_WORDS[status]))
}

function tick () {
  if (next?.openAt <= now()) next = null
  put(at('next'), next && !wanted() ? `Next sale in ${timeText(next.openAt - now())}` : '')
  put(at('previous'), previous && !wanted() ? `Previous sale: ${previous.sold} of ${previous.stock} sold${timeOf(previous.id)}` : '')
  if (sale) put(at('how'), howOf(sale, now()))
  const chosen = target()
  at('take').hidden = gateway() === '' || !chosen || (OVER.includes(chosen.status) && mine === null)
  at('press').disabled = !mayPress()
  if (chosen) {
    put(at('press'), PRESS[chosen.mode] + (chosen === sale ? '' : ' of the next sale'))
    put(at('part'), TAKE_PART[chosen.mode])
  }
  at('by-itself').hidden = chosen?.mode === 'direct'
}

async function list () {
  const { items } = await get('/v1/sales?limit=100')
  items.sort((/** @type {any} */ a, /** @type {any} */ b) => a.openAt - b.openAt)
  if (items.length > 0) aheadMs = items[0].asOf - Date.now()
  const open = items.filter((/** @type {any} */ { openAt }) => openAt <= now())
  next = items[open.length] ?? null
  previous = open.at(-2) ?? null
  const id = wanted() || (open.at(-1) ?? next)?.id
  at('none').hidden = id !== undefined
  if (id === undefined) state('live', 'no sale')
  else if (followEvents(id)) {
    sale = null
    isStreamed = false
  }
  const listed = isStreamed ? undefined : items.find((/** @type {any} */ one) => one.id === id)
  if (listed) take(listed)
  return LIST_EVERY_MS
}

/** @param {any} chosen @param {string} userId @param {string} key */
async function press (chosen, userId, key) {
  mine = { sale: chosen.id, claim: null, over: new AbortController() }
  const own = mine
  sessionStorage.setItem('sale', JSON.stringify({ sale: chosen, userId, key }))
  say('', '')
  tick()
  own.claim = await takePart(chosen, userId, key, { now, signal: own.over.signal })
  own.over.abort()
  sessionStorage.removeItem('sale')
  tick()
  if (sale) reading ??= setTimeout(claims)
}

at('take').addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
  event.preventDefault()
  if (!mayPress()) return
  sessionStorage.setItem('user', at('user').value.trim())
  press(target(), at('user').value.trim(), newKey())
})

at('user').value = sessionStorage.getItem('user') ?? ''
const interrupted = JSON.parse(sessionStorage.getItem('sale') ?? 'null')
if (interrupted) press(interrupted.sale, interrupted.userId, interrupted.key)
setInterval(tick, TICK_MS)
repeat(list)
