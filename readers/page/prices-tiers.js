/** Buttons of the tiers with their sizes, and the assets that demand moved to another tier while the page was open. */
import { at, make, put } from './elements.js'
import { TIERS } from './prices-board.js'
import { number } from './text.js'

const NAMES = ['', ...TIERS]
const MOVES = 3

/** @param {import('./prices-board.js').Asset[]} assets all @param {string} chosen '' = all @param {(tier: string) => void} onChoose */
export function showTiers (assets, chosen, onChoose) {
  const group = at('tiers')
  if (group.children.length === 0) {
    group.append(...NAMES.map((name) => make('button', { type: 'button', onclick: () => onChoose(name) })))
  }
  NAMES.forEach((name, i) => {
    const size = name === '' ? assets.length : assets.filter(({ tier }) => tier === name).length
    put(group.children[i], `${name || 'all'} ${number(size)}`)
    group.children[i].setAttribute('aria-pressed', String(name === chosen))
  })
  const moved = assets.filter(({ movedMs }) => movedMs !== undefined)
    .sort((a, b) => (b.movedMs ?? 0) - (a.movedMs ?? 0)).slice(0, MOVES)
    .map(({ asset, movedFrom, tier }) => `${asset} ${movedFrom} → ${tier}`)
  if (moved.length > 0 && [...at('moved').children].map(({ textContent }) => textContent).join() !== moved.join()) {
    at('moved').replaceChildren(...moved.map((text) => make('li', {}, text)))
  }
}
