/**
 * The servers of a feed: how each is, and its processor time over the last minutes. A server that is gone from the
 * primary's list is told as stopped as long as the history knows it.
 */
import { at, make, put } from './elements.js'
import { duration, percent } from './text.js'

const KEPT_MS = 600_000
const WIDTH = 120
const HEIGHT = 36
/** heights of the drawing, as shares of a core: the same for all servers, so that they can be compared */
const SCALES = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16]
const SVG = 'http://www.w3.org/2000/svg'

/** What a state of /readyz is called here, and how it is meant. @type {Record<string, [word: string, kind: 'good' | 'wait' | 'bad']>} */
const STATES = {
  ok: ['up', 'good'],
  up: ['up', 'good'],
  connected: ['up', 'good'],
  connecting: ['connecting', 'wait'],
  connect: ['waits for its primary', 'wait'],
  sync: ['copying', 'wait'],
  lagging: ['lagging', 'wait'],
  down: ['stopped', 'bad'],
  refused: ['refuses the reader', 'bad'],
  untrusted: ['not trusted', 'bad']
}

/** @typedef {{ role: string, address: string, engine: string | null, state: string, lagMs: number | null, cpu: number | null }} Node */
/** @typedef {{ node: Node, seenMs: number, row: any, isAway: boolean }} Known */

export function createNodes () {
  /** @type {Map<string, Known>} by address */
  const known = new Map()

  /** @param {Node} node @param {number} asOf */
  function see (node, asOf) {
    const { address } = node
    const one = known.get(address) ?? { node, seenMs: asOf, row: createRow(), isAway: false }
    known.set(address, Object.assign(one, { node, seenMs: asOf }))
  }

  return {
    /**
     * @param {Node[]} nodes @param {import('./chart.js').Sample[]} history @param {number} asOf
     * @returns {number} how many are stopped
     */
    show (nodes, history, asOf) {
      for (const node of nodes) see(node, asOf)
      const listed = new Set(nodes.map(({ address }) => address))
      // of before the page was opened
      for (const { at: ms, cpu } of history) {
        for (const address of Object.keys(cpu)) if (!known.has(address)) see({ role: 'server', address, engine: null, state: 'down', lagMs: null, cpu: null }, ms)
      }
      for (const [address, { seenMs, row }] of known) {
        if (listed.has(address) || asOf - seenMs < KEPT_MS) continue
        known.delete(address)
        row.remove()
      }
      const all = [...known.values()].sort((a, b) => Number(b.node.role === 'primary') - Number(a.node.role === 'primary') || (a.node.address < b.node.address ? -1 : 1))
      const most = Math.max(0, ...history.flatMap(({ cpu }) => Object.values(cpu).map(Number)))
      const scale = SCALES.find((one) => one >= most) ?? most
      const body = at('nodes')
      all.forEach((one, index) => {
        const { node, row, isAway } = one
        one.isAway = write(row, listed.has(node.address) ? node : { ...node, state: 'down', lagMs: null, cpu: null })
        if (one.isAway !== isAway) put(at('servers-said'), `${node.role} ${node.address} ${one.isAway ? 'stopped' : 'is up again'}`)
        draw(row, history, node.address, scale)
        if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null)
      })
      put(at('servers-how'), most > 0 ? `share of a core each, drawn up to ${scale * 100} %` : '')
      return all.filter(({ isAway }) => isAway).length
    },

    clear () {
      known.clear()
      at('nodes').replaceChildren()
      put(at('servers-said'), '')
    }
  }
}

function createRow () {
  const svg = document.createElementNS(SVG, 'svg')
  svg.setAttribute('viewBox', `0 0 ${WIDTH} ${HEIGHT}`)
  svg.setAttribute('preserveAspectRatio', 'none')
  svg.setAttribute('aria-hidden', 'true')
  for (const name of ['area', 'line']) {
    const path = document.createElementNS(SVG, 'path')
    path.setAttribute('class', name)
    svg.append(path)
  }
  return make('tr', {},
    make('th', { scope: 'row' }, make('span', { className: 'role' }), ' ', make('span', { className: 'address' })),
    make('td', {}, make('span', { className: 'state' }), ' ', make('span', { className: 'behind' })),
    make('td', {}, make('div', {}, make('span', { className: 'share' }), svg)))
}

/** @param {any} row @param {Node} node @returns {boolean} it is stopped, or as good as */
function write (row, { role, address, state, lagMs, cpu }) {
  const [word, kind] = STATES[state] ?? [state, 'wait']
  const part = (/** @type {string} */ name) => row.querySelector(`.${name}`)
  put(part('role'), role)
  put(part('address'), address)
  put(part('state'), word)
  part('state').dataset.kind = kind
  put(part('behind'), role === 'replica' && lagMs !== null ? `${duration(lagMs)} behind` : '')
  put(part('share'), percent(cpu))
  row.classList.toggle('away', kind === 'bad')
  return kind === 'bad'
}

/** @param {any} row @param {import('./chart.js').Sample[]} history @param {string} address @param {number} scale */
function draw (row, history, address, scale) {
  const [area, line] = row.querySelectorAll('path')
  if (history.length < 2) return
  const from = Math.min(history[0].at, history[history.length - 1].at - 60_000)
  const span = history[history.length - 1].at - from
  let drawn = ''
  let filled = ''
  let firstX = ''
  let lastX = ''
  const close = () => { if (firstX !== '') filled += `L${lastX} ${HEIGHT}L${firstX} ${HEIGHT}Z` }
  for (const { at: ms, cpu } of history) {
    const share = cpu[address] ?? null
    if (share === null) {
      close()
      firstX = ''
      continue
    }
    const x = ((ms - from) / span * WIDTH).toFixed(1)
    const y = (HEIGHT - 1 - share / scale * (HEIGHT - 2)).toFixed(1)
    const step = `${firstX === '' ? 'M' : 'L'}${x} ${y}`
    if (firstX === '') firstX = x
    lastX = x
    drawn += step
    filled += step
  }
  close()
  line.setAttribute('d', drawn)
  area.setAttribute('d', filled)
}
