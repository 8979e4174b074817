/**
 * Orders on their way: rates, how many are at each step, the latest ones with a timeline, a form for one of the visitor, the processes
 * that drive them, and faults of a payment provider on this machine.
 */
import { at, make, put } from './elements.js'
import { showLatest, takeLatest } from './orders-latest.js'
import { BREAKERS, createFaults, get, IS_HERE, repeat, state } from './system.js'
import { duration, number } from './text.js'

const EVERY_MS = 500
/** @type {readonly (readonly [string, string, Record<string, unknown> | null])[]} */
const FAULTS = Object.freeze([
  ['none', '', null],
  ['down', ': no connection', { isDown: true }],
  ['slow', ': replies in 300 ms', { latencyMs: 300 }],
  ['silent', ': one effect in five has no reply', { silentRate: 0.2 }],
  ['declines', ': half of the payments', { declineRate: 0.5 }],
  ['errors', ': replies 500 to half of the calls', { errorRate: 0.5 }]
])
/** What is done at each step. @type {Readonly<Record<string, string>>} */
const MEANINGS = Object.freeze({
  placed: 'Its units are being held',
  held: 'Its payment is being authorized',
  capturing: 'Its payment is being taken',
  captured: 'Paid: its units are being sold',
  confirmed: 'Done',
  cancelling: 'Units and payment are being given back',
  cancelled: 'Done: nothing is held, nothing is paid'
})
const WORST = Object.keys(BREAKERS)
let paymentUrl = ''

async function show () {
  const figures = await get('/v1/orders/figures').catch((error) => {
    if (error.status !== 404) throw error
  })
  if (!figures) {
    state('wait', 'no orders so far')
    return EVERY_MS
  }
  const perSecond = (/** @type {number} */ n) => `${number(n)} /s`
  const ended = { confirmed: perSecond(figures.confirmedPerSecond), cancelled: perSecond(figures.cancelledPerSecond) }
  put(at('placed'), perSecond(figures.placedPerSecond))
  put(at('confirmed'), ended.confirmed)
  put(at('cancelled'), ended.cancelled)
  put(at('p50'), duration(figures.confirmedMsP50))
  put(at('p95'), duration(figures.confirmedMsP95))
  put(at('running'), number(figures.running))
  put(at('letters'), number(figures.deadLetters))
  at('steps').replaceChildren(...figures.steps.map((/** @type {any} */ one) => stepOf(one, ended)))
  at('workers').replaceChildren(...figures.workers.map(workerOf))
  at('no-workers').hidden = figures.workers.length > 0
  provider(figures.workers)
  takeLatest(figures.steps[0].recent)
  state('live', 'live')
  return EVERY_MS
}

/** @param {{ step: string, orders: number | null }} one @param {Record<string, string>} ended rates of steps that are the last */
function stepOf ({ step, orders }, ended) {
  const count = orders === null ? ended[step] : `${number(orders)} now`
  const item = make('li', {},
    make('h3', {}, step), make('p', { className: 'count' }, count), make('p', { className: 'quiet' }, MEANINGS[step]))
  item.dataset.step = step
  return item
}

/** @param {{ id: string, cpuPercent: number, partitions: number, driven: Record<string, number> }} worker */
const workerOf = ({ id, cpuPercent, partitions, driven }) => make('li', {},
  make('h3', {}, id),
  make('meter', { min: 0, max: 100, value: Math.min(100, cpuPercent), title: 'CPU, of one core' }),
  make('p', { className: 'quiet' },
    `CPU ${number(cpuPercent)} %; owns ${number(partitions)} partitions; drives ${number(sumOf(driven))} orders at the moment`))

/** @param {Record<string, number>} counts */
const sumOf = (counts) => Object.values(counts).reduce((sum, n) => sum + n, 0)

/** @param {{ breaker: string, paymentUrl: string | null }[]} workers */
function provider (workers) {
  const url = workers.find((one) => one.paymentUrl)?.paymentUrl ?? ''
  const breaker = workers.map((one) => one.breaker).sort((a, b) => WORST.indexOf(b) - WORST.indexOf(a))[0] ?? 'closed'
  at('breaker').dataset.kind = BREAKERS[breaker]
  put(at('breaker'), `breaker ${breaker}`)
  at('provider').hidden = workers.length === 0
  if (url === paymentUrl) return
  paymentUrl = url
  at('faults').replaceChildren(...IS_HERE && url ? [createFaults(FAULTS, url, 'the provider')] : [])
}

repeat(show)
repeat(showLatest)
