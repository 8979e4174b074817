/** Errors of orders. */
import { defineErrors } from 'freshet-feed/systems'

export const ERRORS = defineErrors('orders', {
  ORDER_UNKNOWN: { status: 404, meaning: 'there is no order with this id' },
  ORDER_TOO_LATE: { status: 409, meaning: 'the payment of the order was requested, or it is final; it cannot be cancelled' },
  ORDER_PRICE_DIFFERS: { status: 409, meaning: 'a price of the order is not that of the catalogue' },
  CUSTOMER_UNKNOWN: { status: 404, meaning: 'there is no customer with this id' },
  CUSTOMER_EXISTS: { status: 409, meaning: 'another customer has this email' },
  PRODUCT_UNKNOWN: { status: 404, meaning: 'there is no product with this SKU' },
  PRODUCT_EXISTS: { status: 409, meaning: 'there is a product with this SKU' },
  PRODUCT_INSUFFICIENT: { status: 409, meaning: 'fewer units are available than asked for' },
  PRODUCT_HELD: { status: 409, retryable: true, meaning: 'units of the product are held, so it cannot be deleted' },
  RESERVATION_ENDED: { status: 409, meaning: 'the reservation was released, or has expired' },
  CALLBACK_INVALID: { status: 401, meaning: 'the signature of the payment provider is missing, wrong or older than five minutes' },
  CALLBACK_TOO_LARGE: { status: 400, meaning: 'a callback of the payment provider has news of more than 100 orders' },
  PAYMENT_UNKNOWN: { retryable: true, meaning: 'the payment provider did not answer, so the result is unknown until it is looked up' },
  PAYMENT_DOWN: { retryable: true, meaning: 'the payment provider is not called for a while, after many failures' },
  PAYMENT_REFUSED: { meaning: 'the payment provider rejected a request as wrong' },
  STOCK_DIFFERS: { meaning: 'the stock of a product does not fit an order, such as a hold of a paid one that is gone' },
  REBUILD_RUNNING: { retryable: true, meaning: 'the views of orders are being rebuilt already' },
  EVENTS_DIFFER: { meaning: 'the database has another event with the same number' }
})

export { FreshetError } from 'freshet-feed/systems'
