/**
 * The servers of a feed: state and CPU of each over the last minutes. A server that the primary no longer lists is shown as
 * stopped while it is in the history.
 */
import { arrange, at, make, put } from './elements.js'
import { duration, percent } from './text.js'

const KEPT_MS = 600_000
const WIDTH = 120
const HEIGHT = 36
/** maximum of the charts, in cores; the same for all servers, so that they compare */
const SCALES = [0.05, 0.1, 0.25, 0.5, 1, 2, 4, 8, 16]
/** width of the mark of an outage */
const MARK = 1.5
const SVG = 'http://www.w3.org/2000/svg'

/** States of /readyz as text. @type {Record<string, [word: string, kind: 'good' | 'wait' | 'bad']>} */
const STATES = {
  ok: ['up', 'good'],
  up: ['up', 'good'],
  connected: ['up', 'good'],
  connecting: ['connecting', 'wait'],
  connect: ['waiting for primary', 'wait'],
  sync: ['syncing', 'wait'],
  lagging: ['lagging', 'wait'],
  down: ['stopped', 'bad'],
  refused: ['access denied', 'bad'],
  untrusted: ['untrusted certificate', 'bad']
}

/** @typedef {{ role: string, address: string, engine: string | null, state: string, lagMs: number | null, cpu: number | null }} Node */
/**
 * @typedef {{ node: Node, seenMs: number, row: any, isAway: boolean, roles: { role: string, sinceMs: number }[] }} Server `roles`: as they
 *   changed while the page was open
 */

const DOWN = { state: 'down', lagMs: null, cpu: null }

/** @param {Server} a @param {Server} b */
const primaryFirst = ({ node: a }, { node: b }) =>
  Number(b.role === 'primary') - Number(a.role === 'primary') || (a.address < b.address ? -1 : 1)

export function createNodes () {
  /** @type {Map<string, Server>} by address */
  const servers = new Map()

  /** @param {Node} node @param {number} asOf */
  function see (node, asOf) {
    const { address } = node
    const server = servers.get(address) ?? { node, seenMs: asOf, row: createRow(), isAway: false, roles: [] }
    if (server.roles.at(-1)?.role !== node.role) server.roles.push({ role: node.role, sinceMs: asOf })
    servers.set(address, Object.assign(server, { node, seenMs: asOf }))
  }

  return {
    /**
     * @param {Node[]} nodes @param {import('./chart.js').Sample[]} history @param {import('./outages.js').Outage[]} outages
     * @param {number} asOf
     * @returns {number} number of stopped servers
     */
    show (nodes, history, outages, asOf) {
      for (const node of nodes) see(node, asOf)
      const listed = new Set(nodes.map(({ address }) => address))
      // servers that stopped before the page was opened
      for (const { at: ms, cpu } of history) {
        for (const address of Object.keys(cpu)) if (!servers.has(address)) see({ role: 'server', address, engine: null, ...DOWN }, ms)
      }
      for (const [address, { seenMs }] of servers) if (!listed.has(address) && asOf - seenMs >= KEPT_MS) servers.delete(address)
      const all = [...servers.values()].sort(primaryFirst)
      const most = Math.max(0, ...history.flatMap(({ cpu }) => Object.values(cpu).map(Number)))
      const scale = SCALES.find((limit) => limit >= most) ?? most
      for (const server of all) {
        const { node, row, isAway } = server
        server.isAway = write(row, listed.has(node.address) ? node : { ...node, ...DOWN })
        if (server.isAway !== isAway) put(at('servers-said'), `${node.role} ${node.address} ${server.isAway ? 'stopped' : 'is up again'}`)
        draw(row, history, outages.filter(({ address }) => address === node.address), node.address, scale)
      }
      arrange(at('nodes'), all.map(({ row }) => row))
      put(at('servers-how'), most > 0 ? `CPU in % of one core; charts up to ${scale * 100} %` : '')
      return all.filter(({ isAway }) => isAway).length
    },

    /**
     * The role at that time: a failover changes it. Of a time before the page was open, the first that it saw.
     * @param {string} address @param {number} atMs
     */
    roleOf (address, atMs) {
      const roles = servers.get(address)?.roles ?? []
      return (roles.findLast(({ sinceMs }) => sinceMs <= atMs) ?? roles[0])?.role ?? 'server'
    },

    clear () {
      servers.clear()
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
  for (const name of ['area', 'line', 'outage']) {
    const path = document.createElementNS(SVG, 'path')
    path.setAttribute('class', name)
    svg.append(path)
  }
  return make('li', {},
    make('p', {}, make('span', { className: 'role' }), ' ', make('span', { className: 'address' })),
    make('p', {}, make('span', { className: 'state' }), ' ', make('span', { className: 'behind' })),
    make('p', {}, make('span', { className: 'quiet', textContent: 'CPU' }), ' ', make('span', { className: 'share' })),
    svg)
}

/** @param {any} row @param {Node} node @returns {boolean} whether it is stopped or unusable */
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

/**
 * @param {any} row @param {import('./chart.js').Sample[]} history @param {import('./outages.js').Outage[]} outages of this server
 * @param {string} address @param {number} scale
 */
function draw (row, history, outages, address, scale) {
  const [area, line, mark] = row.querySelectorAll('path')
  if (history.length < 2) return
  const from = Math.min(history[0].at, history[history.length - 1].at - 60_000)
  const span = history[history.length - 1].at - from
  const xOf = (/** @type {number} */ ms) => (ms - from) / span * WIDTH
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
    const x = xOf(ms).toFixed(1)
    const y = (HEIGHT - 1 - share / scale * (HEIGHT - 2)).toFixed(1)
    const step = `${firstX === '' ? 'M' : 'L'}${x} ${y}`
    if (firstX === '') firstX = x
    lastX = x
    drawn += step
    filled += step
  }
  close()
  mark.setAttribute('d', outages.map((outage) => {
    const until = Math.max(xOf(outage.to ?? Infinity), xOf(outage.from) + MARK)
    return `M${xOf(outage.from).toFixed(1)} 0H${Math.min(WIDTH, until).toFixed(1)}V${HEIGHT}H${xOf(outage.from).toFixed(1)}Z`
  }).join(''))
  line.setAttribute('d', drawn)
  area.setAttribute('d', filled)
}
