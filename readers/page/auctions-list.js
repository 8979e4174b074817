/** The list of open auctions, as links; and how titles and times are shown. */
import { at, make, put } from './elements.js'

/** Without the end that makes an id of the demo unique, which has a digit. @param {string} id */
export const titleOf = (id) => id.replace(/-(?=\w*\d)\w+$/, '').replace(/-/g, ' ').replace(/^./, (first) => first.toUpperCase())

/** @param {number} ms */
export function timeText (ms) {
  if (ms <= 0) return 'closing'
  const seconds = Math.ceil(ms / 1000)
  const minutes = Math.floor(seconds / 60)
  if (minutes >= 2880) return `${Math.floor(minutes / 1440)} days`
  return minutes >= 60 ? `${Math.floor(minutes / 60)} h ${minutes % 60} min` : `${minutes}:${String(seconds % 60).padStart(2, '0')}`
}

/** Cards that stay are not replaced: they keep the keyboard focus. @param {any[]} items */
export function showCards (items) {
  const focused = document.activeElement?.getAttribute('href')
  const links = [...document.querySelectorAll('#open a')]
  if (links.map((link) => link.getAttribute('href')).join() !== items.map(({ id }) => `#${id}`).join()) {
    at('open').replaceChildren(...items.map(cardOf))
    for (const link of document.querySelectorAll('#open a')) {
      if (link.getAttribute('href') === focused) /** @type {HTMLElement} */ (link).focus()
    }
  } else items.forEach((auction, i) => textsOf(auction).forEach((text, part) => put(links[i].children[part], text)))
}

/** @param {any} auction title, time left, bids, price */
const textsOf = ({ id, currentBid, startPrice, currency, closeAt, asOf, bids }) => [
  titleOf(id), timeText(closeAt - asOf), `${bids} ${bids === 1 ? 'bid' : 'bids'}`, `${currentBid ?? startPrice} ${currency}`
]

/** @param {any} auction */
function cardOf (auction) {
  const [title, left, count, price] = textsOf(auction)
  const link = make('a', { href: `#${auction.id}` },
    make('strong', {}, title), make('span', {}, left), make('span', { className: 'quiet' }, count), make('span', {}, price))
  link.setAttribute('aria-current', String(auction.id === location.hash.slice(1)))
  return make('li', {}, link)
}
