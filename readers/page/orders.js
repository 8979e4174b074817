/**
 * Orders on their way: rates, the last orders at each step, the processes that drive them, and faults of a payment provider on this
 * machine.
 */
import { at, make, put } from './elements.js'
import { duration, number } from './text.js'

const EVERY_MS = 500
/** Name, meaning, and what the provider is sent; null = no fault. @type {readonly [string, string, Record<string, unknown> | null][]} */
const FAULTS = Object.freeze([
  ['none', '', null],
  ['down', ': no connection', { isDown: true }],
  ['slow', ': replies in 300 ms', { latencyMs: 300 }],
  ['silent', ': one effect in five has no reply', { silentRate: 0.2 }],
  ['declines', ': half of the payments', { declineRate: 0.5 }],
  ['errors', ': replies 500 to half of the calls', { errorRate: 0.5 }]
])
/** @type {Readonly<Record<string, string>>} */
const KINDS = Object.freeze({ closed: 'good', 'half-open': 'wait', open: 'bad' })
const WORST = Object.freeze(['closed', 'half-open', 'open'])
/** faults are switched by a browser on the same machine */
const IS_HERE = ['127.0.0.1', 'localhost'].includes(location.hostname)
let paymentUrl = ''

/** @param {string} kind @param {string} text */
function state (kind, text) {
  at('state').dataset.state = kind
  put(at('state'), text)
}

async function show () {
  const response = await fetch('/v1/sagas/figures', { cache: 'no-store' })
  if (response.status === 404) return state('wait', 'no orders so far')
  if (!response.ok) throw new Error(`status ${response.status}`)
  const figures = /** @type {any} */ (await response.json())
  const perSecond = (/** @type {number} */ n) => `${number(n)} /s`
  put(at('placed'), perSecond(figures.placedPerSecond))
  put(at('confirmed'), perSecond(figures.confirmedPerSecond))
  put(at('cancelled'), perSecond(figures.cancelledPerSecond))
  put(at('p50'), duration(figures.confirmedMsP50))
  put(at('p95'), duration(figures.confirmedMsP95))
  put(at('running'), number(figures.running))
  put(at('letters'), number(figures.deadLetters))
  at('steps').replaceChildren(...figures.steps.map(stepOf))
  at('replicas').replaceChildren(...figures.replicas.map(replicaOf))
  at('no-replicas').hidden = figures.replicas.length > 0
  provider(figures.replicas)
  state('live', 'live')
}

/** @param {{ step: string, orders: number | null, recent: string[] }} one */
function stepOf ({ step, orders, recent }) {
  const item = make('li', {},
    make('h3', {}, make('span', {}, step), make('span', { className: 'quiet' }, orders === null ? '' : number(orders))),
    ...recent.map((id) => make('code', { title: id }, id)))
  item.dataset.step = step
  return item
}

/** @param {{ id: string, cpuPercent: number, partitions: number, driven: number }} replica */
const replicaOf = ({ id, cpuPercent, partitions, driven }) => make('li', {},
  make('h3', {}, id),
  make('meter', { min: 0, max: 100, value: Math.min(100, cpuPercent), title: 'CPU, of one core' }),
  make('p', { className: 'quiet' },
    `CPU ${number(cpuPercent)} %, ${number(partitions)} partitions, ${number(driven)} orders at the moment`))

/** @param {{ breaker: string, paymentUrl: string | null }[]} replicas */
function provider (replicas) {
  const url = replicas.find((one) => one.paymentUrl)?.paymentUrl ?? ''
  const breaker = replicas.map((one) => one.breaker).sort((a, b) => WORST.indexOf(b) - WORST.indexOf(a))[0] ?? 'closed'
  at('breaker').dataset.kind = KINDS[breaker]
  put(at('breaker'), `breaker ${breaker}`)
  at('provider').hidden = replicas.length === 0
  at('fault').parentElement.hidden = !IS_HERE || url === ''
  if (url === paymentUrl) return
  paymentUrl = url
  if (IS_HERE && url) send()
}

/** @param {RequestInit} [request] */
async function send (request) {
  try {
    const faults = await (await fetch(`${paymentUrl}/faults`, request)).json()
    const on = FAULTS.findIndex(([,, body]) => body !== null && Object.entries(body).every(([name, value]) => faults[name] === value))
    at('fault').selectedIndex = Math.max(0, on)
    at('fault').classList.toggle('on', on > 0)
    put(at('outcome'), '')
  } catch {
    put(at('outcome'), 'The provider does not answer.')
  }
}

at('fault').append(...FAULTS.map(([value, meaning]) => make('option', { value }, value + meaning)))
at('fault').addEventListener('change', () => {
  const body = FAULTS[at('fault').selectedIndex][2]
  send(body === null
    ? { method: 'DELETE' }
    : { method: 'PUT', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
})

async function repeat () {
  try {
    if (!document.hidden) await show()
  } catch {
    state('away', 'connecting again')
  }
  setTimeout(repeat, EVERY_MS)
}
repeat()
