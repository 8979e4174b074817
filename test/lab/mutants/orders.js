/**
 * Orders in memory, decided in one go: right, and in ways that are wrong, each in one, so that the checker can be checked.
 *
 *     mark-before-do   captured is written before the provider is called; a process that ends between has sold what nobody paid
 *     no-idempotency   a payment whose reply was lost is made again, as another one
 *     get-set-state    the stock is read, and written later: of two orders at once, one is forgotten
 *     no-deadline      an order whose provider says nothing waits for ever
 *     release-twice    units are given back again when the request is repeated
 */
export const MUTANTS = Object.freeze(['mark-before-do', 'no-idempotency', 'get-set-state', 'no-deadline', 'release-twice'])
const SKU = 'a'
const UNITS = 100
const TOTAL = 5

/** What happens to each order in turn. */
const FATES = Object.freeze(['paid', 'crash', 'lost reply', 'silent', 'declined', 'paid'])

/** @typedef {import('../../../lab/systems/orders/history.js').History} History */

/** @param {string} technique one of MUTANTS, or anything that is right @param {number} [count] @returns {History} */
export function ordersInMemory (technique, count = FATES.length * 2) {
  const stock = { sku: SKU, units: UNITS, available: UNITS, held: 0, sold: 0 }
  /** @type {History['orders']} */
  const orders = []
  /** @type {History['events']} */
  const events = []
  /** @type {History['payments']} */
  const payments = []
  /** what the order before has read of the stock */
  let stale = stock.available

  for (let n = 0; n < count; n++) {
    const id = `o${n}`
    const fate = FATES[n % FATES.length]
    const facts = { total: TOTAL, lines: [{ sku: SKU, quantity: 1 }] }
    const order = { id, status: 'pending', reason: null, ...facts, ms: 0 }
    let version = 0
    const step = (/** @type {string} */ type) => events.push({ id, version: ++version, type, ...(type === 'placed' ? facts : {}) })
    const end = (/** @type {string} */ status) => { step(status); order.status = status }
    orders.push(order)
    step('placed')
    const read = technique === 'get-set-state' && n % 2 === 1 ? stale : stock.available
    stale = stock.available
    stock.available = read - 1
    stock.held++
    step('held')
    const payment = { id, captures: 0, captured: 0, refunded: 0 }
    payments.push(payment)
    if (fate === 'declined' || fate === 'silent') {
      if (fate === 'silent' && technique === 'no-deadline') continue
      step(fate === 'declined' ? 'declined' : 'deadline')
      for (let i = 0; i < (technique === 'release-twice' ? 2 : 1); i++) { stock.available++; stock.held-- }
      end('cancelled')
      continue
    }
    step('capture_requested')
    const isLost = fate === 'crash' && technique === 'mark-before-do'
    const isAgain = fate === 'lost reply' && technique === 'no-idempotency'
    if (!isLost) Object.assign(payment, { captures: 1, captured: TOTAL })
    if (isAgain) payments.push({ id, captures: 1, captured: TOTAL, refunded: 0 })
    step('captured')
    stock.held--
    stock.sold++
    end('confirmed')
  }
  return { technique, placed: orders.map(({ id }) => id), unknown: [], orders, events, payments, stock: [stock], dead: [] }
}
