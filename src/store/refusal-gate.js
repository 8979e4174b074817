/**
 * One gate for each address, its user included, that this process knocks at. While nobody is refused it stands open.
 *
 *     open --one is refused--> shut: one at a time tries, the next a second later, each in its turn
 *     shut --a turn opens and is not refused for SETTLED_MS--> open: those who wait follow at once, spread by jitter
 *
 * So a process asks a server that refuses it at most once a second, however many connections it wants. There are two lines,
 * called by turns: links (link.js), and the connections of views (own-connection.js), of which there is one a feed, so that many
 * views do not keep out the link that all of them need. A connection counts as let in only after a moment, as what a user may
 * not do is found out by doing it. Who is closed leaves its place; a turn that ends otherwise (server gone) leaves the gate as
 * it was.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const TURN_MS = 1000
const SETTLED_MS = 250
const FOLLOW_MS = 100

/** @typedef {ReturnType<typeof createGate>} Gate */
/** @typedef {'links' | 'views'} Line */
/** @typedef {{ opened: () => void, ended: (refusal?: Error | null) => void }} Attempt `opened`: the connection is usable;
 *   `ended`, once: it is over, or did not come about; with the refusal, if it was one */

/** @type {Map<string, Gate>} */
const gates = new Map()

/** @param {string} url @returns {Gate} */
export function gateTo (url) {
  const { href } = new URL(url)
  const gate = gates.get(href) ?? createGate()
  gates.set(href, gate)
  return gate
}

function createGate () {
  /** @type {Error | null} */
  let refusal = null
  let nextAt = 0
  let isTurnTaken = false
  /** @type {Record<Line, ((hasTurn: boolean) => void)[]>} the first in line first */
  const lines = { links: [], views: [] }
  /** @type {Line} which line is called next, if somebody waits there */
  let next = 'links'
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  const isAwaited = () => lines.links.length + lines.views.length > 0
  const other = (/** @type {Line} */ line) => line === 'links' ? 'views' : 'links'

  function callNext () {
    clearTimeout(timer)
    if (isTurnTaken || !isAwaited()) return
    timer = setTimeout(() => {
      isTurnTaken = true
      const line = lines[next].length > 0 ? next : other(next)
      next = other(line)
      lines[line].shift()?.(true)
    }, Math.max(0, nextAt - performance.now()))
  }

  function open () {
    refusal = null
    isTurnTaken = false
    clearTimeout(timer)
    for (const go of [...lines.links.splice(0), ...lines.views.splice(0)]) go(false)
  }

  /** @param {AbortSignal} signal @param {Line} line @returns {Promise<boolean>} whether it has the turn */
  const inLine = (signal, line) => new Promise((resolve) => {
    const leave = () => {
      lines[line] = lines[line].filter((one) => one !== go)
      if (!isAwaited()) clearTimeout(timer)
      resolve(false)
    }
    const go = (/** @type {boolean} */ hasTurn) => {
      signal.removeEventListener('abort', leave)
      resolve(hasTurn)
    }
    signal.addEventListener('abort', leave, { once: true })
    lines[line].push(go)
    callNext()
  })

  /** @param {boolean} hadTurn @returns {Attempt} */
  function createAttempt (hadTurn) {
    let hasTurn = hadTurn
    /** @type {NodeJS.Timeout | undefined} */
    let settling
    return {
      opened () {
        if (!hasTurn || settling) return
        settling = setTimeout(() => {
          hasTurn = false
          open()
        }, SETTLED_MS)
      },
      ended (refused = null) {
        clearTimeout(settling)
        if (refused) refusal = refused
        else if (!hasTurn) return
        nextAt = performance.now() + TURN_MS * (1 + Math.random() / 4)
        if (hasTurn) isTurnTaken = false
        hasTurn = false
        callNext()
      }
    }
  }

  return {
    /** Why one would have to wait now; null = one would not. */
    get refusal () { return isTurnTaken || isAwaited() || performance.now() < nextAt ? refusal : null },

    /** Resolves when an attempt may be made, or when the signal is aborted. @param {AbortSignal} signal @param {Line} line @returns {Promise<Attempt>} */
    async enter (signal, line) {
      if (refusal === null || signal.aborted) return createAttempt(false)
      const hasTurn = await inLine(signal, line)
      if (!hasTurn) await sleep(Math.random() * FOLLOW_MS, undefined, { signal }).catch(() => {})
      return createAttempt(hasTurn)
    }
  }
}
