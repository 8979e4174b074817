/** Products: their commands and their query, on rule `bounded`. */
import { decisions, fields, moneyText, schemas } from 'freshet-feed/systems'
import { FreshetError } from './errors.js'
import { claimOfReservation, productKey } from './keys.js'
import { ENDED } from './replies.js'

const { id: idField, money, optional, own, text, whole } = fields
const { amount: AMOUNT, count: COUNT, id: ID_TEXT, objectOf, seq: SEQ } = schemas
const { otherBody, units: unitsOf } = decisions

/** The user of all reservations. */
const RESERVER = 'r'
const HOLD_MS = 60_000
const DAY_MS = 86_400_000
const NO_END = String(2 ** 41 - 1)
const NO_LIMIT = String(Number.MAX_SAFE_INTEGER)
const MAX_UNITS = 1_000_000_000
const MAX_SKU = 48

export const SKU = own(null, `1-${MAX_SKU} of A-Z a-z 0-9 _ . : -`, { type: 'string', pattern: `^[A-Za-z0-9_.:-]{1,${MAX_SKU}}$` })
export const UNITS = whole(1, MAX_UNITS)
const STOCK = { sku: ID_TEXT, seq: SEQ, available: COUNT, held: COUNT, sold: COUNT }
const RESERVED = {
  200: objectOf({ ...STOCK, reservationId: ID_TEXT, status: { type: 'string', enum: ['held', 'released'] }, holdUntil: COUNT })
}

/**
 * A command whose reply is the units of the product.
 * @param {import('freshet-feed/systems').Given} request @param {import('./commands.js').Orders} orders @param {string[]} args
 * @param {Record<string, unknown>} [facts] of the reply
 */
async function change ({ params: { sku }, requestId }, { decide }, args, facts = {}) {
  const decision = await decide('bounded', productKey(sku), requestId, args)
  return { status: 200, body: { sku, ...facts, ...unitsOf(decision) }, isReplay: decision.isReplay }
}

/** @type {import('freshet-feed/systems').System['commands']} */
export const PRODUCT_COMMANDS = {
  createProduct: {
    method: 'PUT',
    path: '/v1/products/:sku',
    access: 'admin',
    summary: 'Create a product',
    body: { name: text(200)(''), price: money('of one unit'), quantity: whole(0, MAX_UNITS)('in stock') },
    schemas: { 200: objectOf(STOCK), 201: objectOf(STOCK) },
    codes: ['PRODUCT_EXISTS'],
    async run ({ params: { sku }, body: { name, price, quantity }, requestId }, { decide, stateOf, rememberMs }) {
      if (sku.length > MAX_SKU) throw new FreshetError('REQUEST_INVALID', `sku: ${sku}; expected at most ${MAX_SKU} characters`)
      const about = JSON.stringify({ name, price })
      const decision = await decide('bounded', productKey(sku), requestId,
        ['create', String(quantity), NO_LIMIT, '0', NO_END, '0', 'direct', '0', '0', rememberMs, about])
      const isNew = decision.code !== 'exists'
      const stored = isNew ? null : await stateOf(productKey(sku))
      if (stored && (stored.about !== about || stored.stock !== String(quantity))) {
        throw new FreshetError('PRODUCT_EXISTS', 'there is another product with this SKU; restock it, or use another one')
      }
      return { status: isNew ? 201 : 200, body: { sku, ...unitsOf(decision) }, isReplay: decision.isReplay }
    }
  },
  reserve: {
    path: '/v1/products/:sku/reserve',
    summary: 'Hold units for a while',
    body: {
      reservationId: idField('a repetition with it has no effect'),
      quantity: UNITS('units'),
      holdMs: optional(whole(1, DAY_MS)('ms until they are released; default: 60,000'))
    },
    schemas: RESERVED,
    codes: ['PRODUCT_UNKNOWN', 'PRODUCT_INSUFFICIENT', 'RESERVATION_ENDED'],
    async run ({ params: { sku }, body: { reservationId, quantity, holdMs } }, { decide }) {
      const decision = await decide('bounded', productKey(sku), '',
        ['claim', RESERVER, String(quantity), claimOfReservation(reservationId), 'sold', 'direct', String(holdMs ?? HOLD_MS)])
      const { code, details } = decision
      if (code === 'already_claimed' && details.quantity !== String(quantity)) throw otherBody('reservationId')
      if (code === 'released') throw new FreshetError(...ENDED)
      const until = details.until === undefined ? {} : { holdUntil: Number(details.until) }
      const body = { sku, reservationId, status: 'held', ...until, ...unitsOf(decision) }
      return { status: 200, body, isReplay: code === 'already_claimed' }
    }
  },
  release: {
    path: '/v1/products/:sku/release',
    summary: 'Give held units back',
    body: { reservationId: idField('of the reservation') },
    schemas: RESERVED,
    codes: ['PRODUCT_UNKNOWN', 'RESERVATION_ENDED'],
    run ({ body: { reservationId }, ...request }, orders) {
      const args = ['release', RESERVER, claimOfReservation(reservationId)]
      return change({ ...request, body: null, requestId: '' }, orders, args, { reservationId, status: 'released' })
    }
  },
  restock: {
    path: '/v1/products/:sku/restock',
    access: 'admin',
    summary: 'More units',
    body: { quantity: UNITS('more units') },
    schemas: { 200: objectOf(STOCK) },
    codes: ['PRODUCT_UNKNOWN'],
    run: (request, orders) => change(request, orders, ['restock', String(request.body.quantity)])
  },
  remove: {
    method: 'DELETE',
    path: '/v1/products/:sku',
    access: 'admin',
    summary: 'Delete a product of which no unit is held',
    schemas: { 200: objectOf(STOCK) },
    codes: ['PRODUCT_UNKNOWN', 'PRODUCT_HELD'],
    run: (request, orders) => change(request, orders, ['remove'], { status: 'deleted' })
  }
}

/** @param {string} sku */
const noProduct = (sku) => new FreshetError('PRODUCT_UNKNOWN', `there is no product ${sku}; create it with PUT /v1/products/:sku`)

/** @type {import('freshet-feed/systems').OwnQuery} */
export const PRODUCT = {
  path: '/v1/products/:sku',
  summary: 'A product',
  fields: fields.query.since(),
  reply: objectOf({ ...STOCK, name: { type: 'string' }, price: AMOUNT }),
  codes: ['PRODUCT_UNKNOWN'],
  none ({ params: { sku } }) { throw noProduct(sku) },
  async run ({ params: { sku }, query }, { find, since }) {
    const read = async () => {
      const product = await find(productKey(sku))
      if (product?.fields.status !== 'open') throw noProduct(sku)
      return product
    }
    const { fields } = await since(productKey(sku), query, { read })
    const { name, price } = JSON.parse(fields.about)
    return { sku, name, price: moneyText(price), ...unitsOf({ seq: Number(fields.seq), details: fields }) }
  }
}
