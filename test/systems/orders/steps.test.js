/** Steps of an order, and what comes in one call, by a server, a provider and a gateway that are made here. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { FreshetError } from '../../../src/sql/errors.js'
import { COMMANDS } from '../../../src/systems/orders/commands.js'
import { createSaga, signatureOf } from '../../../src/systems/orders/index.js'
import { silentLog } from '../../servers.js'

const AFTER = /** @type {Record<string, string>} */ ({
  held: 'held', capture_requested: 'capturing', captured: 'captured', confirmed: 'confirmed', declined: 'cancelling', cancelled: 'cancelled'
})
const PLACED = Object.freeze({
  status: 'placed',
  correlation: 'c',
  lines: '[{"sku":"lamp","quantity":1}]',
  total: '100',
  placedAt: '1',
  wasHeld: '',
  reason: '',
  parked: ''
})

/**
 * An order that is driven; `calls` has its steps, those of one call joined.
 * @param {{ authorize?: () => Promise<any>, capture?: () => Promise<any>, sold?: string, wasSold?: boolean | Error,
 *   decide?: (op: string) => any, confirm?: (key: string, generation?: string) => Promise<void> }} [given] `sold`: code of the rule when a
 *   line is sold; `wasSold` by its events; `decide` in place of what is accepted
 */
function order ({ authorize, capture, sold = 'accepted', wasSold = false, decide = () => null, confirm = async () => {} } = {}) {
  const calls = /** @type {string[]} */ ([])
  const asked = /** @type {string[]} */ ([])
  let reads = 0
  const state = /** @type {Record<string, string>} */ ({ ...PLACED })
  const answer = (/** @type {any} */ { rule, args: [op, more = ''] }) => {
    if (rule === 'bounded') return { code: op === 'confirm' ? sold : 'accepted', details: {} }
    const other = decide(op)
    if (other) return other
    Object.assign(state, { status: AFTER[op] ?? state.status, reason: op === 'declined' ? more : state.reason })
    return { code: 'accepted', details: { status: state.status, reason: state.reason }, generation: 'abc.1' }
  }
  const record = (/** @type {any[]} */ commands) => {
    const ops = commands.filter(({ rule }) => rule === 'step').map(({ args: [op] }) => op)
    if (ops.length > 0) calls.push(ops.join('+'))
    return commands.map(answer)
  }
  const drive = createSaga({
    submit: async (command) => record([command])[0],
    submitAll: async (commands) => record(commands),
    async stateOf () {
      reads++
      return { ...state }
    },
    payments: /** @type {any} */ ({
      authorize () {
        asked.push('authorize')
        return authorize?.() ?? Promise.resolve({ status: 'authorized', id: 'p' })
      },
      capture () {
        asked.push('capture')
        return capture?.() ?? Promise.resolve({ status: 'captured' })
      },
      async undo () { asked.push('undo') }
    }),
    confirm,
    async wasSold () {
      if (wasSold instanceof Error) throw wasSold
      return wasSold
    },
    async deadLetter () { asked.push('dead letter') },
    drop: async () => {},
    log: silentLog
  })
  return { state, calls, asked, drive, reads: () => reads }
}

t.test('an order that has just been placed is not read, and its steps take two calls', async (t) => {
  const { drive, calls, asked, reads } = order()
  t.equal(await drive('o:a', { ...PLACED }), true)
  t.same(calls, ['held+capture_requested', 'captured+confirmed'])
  t.same([asked, reads()], [['authorize', 'capture'], 0])
})

t.test('while the provider is slow the order is held, and the provider is asked once', async (t) => {
  const { drive, calls, asked, state } = order({ authorize: async () => sleep(150, { status: 'authorized', id: 'p' }) })
  const driving = drive('o:a', { ...PLACED })
  await sleep(100)
  t.equal(state.status, 'held')
  await driving
  t.same(calls, ['held', 'capture_requested', 'captured+confirmed'])
  t.same(asked, ['authorize', 'capture'])
})

t.test('an authorization that fails leaves the order held; one that is declined cancels it', async (t) => {
  const failing = order({ authorize: async () => { throw Object.assign(new Error('down'), { retryable: true }) } })
  await t.rejects(failing.drive('o:a', { ...PLACED }), { message: 'down' })
  t.same([failing.calls, failing.state.status], [['held'], 'held'])
  const declined = order({ authorize: async () => ({ status: 'declined', id: '' }) })
  await declined.drive('o:b', { ...PLACED })
  t.same(declined.calls, ['held+declined', 'cancelled'])
})

t.test('nothing is captured before it is confirmed that this was requested, by the primary that decided it', async (t) => {
  const confirmed = /** @type {any[]} */ ([])
  const failing = order({
    async confirm (...args) {
      confirmed.push(args)
      throw Object.assign(new Error('not confirmed'), { retryable: true })
    }
  })
  await t.rejects(failing.drive('o:a', { ...PLACED }), { message: 'not confirmed' })
  t.same([confirmed, failing.asked], [[['o:a', 'abc.1']], ['authorize']])
})

t.test('an order that is cancelled while its payment is authorized has its payment voided', async (t) => {
  const cancelled = order({
    async authorize () {
      Object.assign(cancelled.state, { status: 'cancelling', reason: 'cancel_requested' })
      return { status: 'authorized', id: 'p' }
    },
    decide: (op) => op === 'cancelled' ? null : { code: 'illegal', details: { status: 'cancelling', reason: 'cancel_requested' } }
  })
  await cancelled.drive('o:a', { ...PLACED })
  t.same(cancelled.asked, ['authorize', 'undo'])
  t.equal(cancelled.state.status, 'cancelled')
})

t.test('what was captured and cannot be sold is recorded as captured', async (t) => {
  const { drive, calls } = order({ sold: 'unknown_claim' })
  await t.rejects(drive('o:a', { ...PLACED }), { code: 'STOCK_DIFFERS' })
  t.same(calls, ['held+capture_requested', 'captured'])
})

t.test('a line whose product has forgotten that it was sold is not sold again', async (t) => {
  const { drive, calls } = order({ sold: 'unknown_claim', wasSold: true })
  await drive('o:a', { ...PLACED })
  t.same(calls, ['held+capture_requested', 'captured+confirmed'])
})

t.test('while the database does not say whether it was sold, the order is tried again, and never parked', async (t) => {
  const { drive, calls, asked } = order({ sold: 'unknown_claim', wasSold: new FreshetError('DATABASE_TIMEOUT') })
  for (let n = 0; n < 7; n++) await t.rejects(drive('o:a'), { code: 'DATABASE_TIMEOUT' })
  t.same([calls, asked], [['held+capture_requested'], ['authorize', ...Array(7).fill('capture')]])
})

t.test('a callback is decided only where it may change something, however often and late it comes', async (t) => {
  const secret = 'whsec'
  const body = JSON.stringify({ key: 'a.1' })
  const decided = /** @type {string[]} */ ([])
  const call = async (/** @type {Record<string, string>} */ state) => {
    const headers = { 'payment-signature': signatureOf(secret, body, Math.floor(Date.now() / 1000)) }
    const submit = async (/** @type {any} */ { args: [op] }) => { decided.push(`${op} ${state.status}`) }
    const own = { paymentSecret: secret, submit, stateOf: async () => state }
    return /** @type {any} */ (COMMANDS)?.callback.run({ body, headers }, own)
  }
  for (const status of ['placed', 'held', 'capturing', 'captured', 'confirmed', 'cancelling']) {
    for (let times = 0; times < 2; times++) t.same(await call({ status, parked: '' }), { status: 204 })
  }
  t.same(await call({}), { status: 204 }, 'an order that has left the servers')
  t.same(decided, [])
  await call({ status: 'cancelled', parked: '' })
  await call({ status: 'capturing', parked: 'why' })
  t.same(decided, ['check cancelled', 'check capturing'])
})
