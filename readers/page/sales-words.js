/** What the page of sales says about a sale: its mode and status, what happens, and how to take part. */
import { timeText } from './auctions-list.js'
import { duration } from './text.js'

/** @typedef {{ mode: string, status: string, openAt: number, holdMs: number, admitConcurrency: number }} Sale */

/** @type {Readonly<Record<string, string>>} */
export const MODES = Object.freeze({ direct: 'first come, first served', queue: 'by queue', token: 'by token' })
/** @type {Readonly<Record<string, string>>} */
export const PRESS = Object.freeze({ direct: 'Buy one', queue: 'Join the queue', token: 'Get a token' })
/** @type {Readonly<Record<string, string>>} */
export const CLAIM_WORDS = Object.freeze({ sold: 'got one', pending: 'being recorded' })
/** @type {Readonly<Record<string, string>>} */
export const STATUS_WORDS = Object.freeze({ scheduled: 'not open yet', sold_out: 'sold out' })

/** @type {Readonly<Record<string, (sale: Sale) => string>>} */
const HOW = Object.freeze({
  direct: () => 'Claims are decided in the order of arrival: each gets a unit while there are any, then everyone learns at once ' +
    'that none is left.',
  queue: ({ admitConcurrency, holdMs }) => `People join a queue, also before the sale opens. ${admitConcurrency} at a time are admitted, ` +
    `in the order of joining, and have ${seconds(holdMs)} to claim a unit; if they do not, it goes to the next person.`,
  token: ({ holdMs }) => `People get a token, which holds a unit for ${seconds(holdMs)}. Those who claim in that time get the unit; ` +
    'otherwise it is available again.'
})
/** @type {Readonly<Record<string, string>>} */
export const TAKE_PART = Object.freeze({
  direct: 'Take part: enter a name, and press. Before the sale opens, this page waits, and sends your claim when it opens.',
  queue: 'Take part: enter a name, and join. This page shows your position, and claims for you when it is your turn.',
  token: 'Take part: enter a name, and get a token. This page claims with it for you.'
})

const seconds = (/** @type {number} */ ms) => duration(ms).replace('.0 ', ' ')

/** @param {Sale} sale @param {number} nowMs time of the server */
export const howOf = (sale, nowMs) =>
  (sale.status === 'scheduled' ? `It opens in ${timeText(Math.max(1, sale.openAt - nowMs))}. ` : '') + HOW[sale.mode](sale)
