/**
 * One gate for each address, its user included, that this process knocks at. While nobody is refused it stands open.
 *
 *     open --a link is refused--> shut: one link at a time tries, the next a second later, each in its turn
 *     shut --a turn opens and is not refused for SETTLED_MS--> open: those who wait follow at once, spread by jitter
 *
 * So a process asks a server that refuses it at most once a second, however many links it has. A connection counts as
 * let in only after a moment, as what a user may not do is found out by doing it. A link that is closed leaves its
 * place; a turn that ends otherwise (server gone) leaves the gate as it was.
 */
import { setTimeout as sleep } from 'node:timers/promises'

const TURN_MS = 1000
const SETTLED_MS = 250
const FOLLOW_MS = 100

/** @typedef {ReturnType<typeof createGate>} Gate */
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
  /** @type {((hasTurn: boolean) => void)[]} the first in line first */
  let waiting = []
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  function callNext () {
    clearTimeout(timer)
    if (isTurnTaken || waiting.length === 0) return
    timer = setTimeout(() => {
      isTurnTaken = true
      waiting.shift()?.(true)
    }, Math.max(0, nextAt - performance.now()))
  }

  function open () {
    refusal = null
    isTurnTaken = false
    clearTimeout(timer)
    for (const go of waiting) go(false)
    waiting = []
  }

  /** @param {AbortSignal} signal @returns {Promise<boolean>} whether it has the turn */
  const inLine = (signal) => new Promise((resolve) => {
    const leave = () => {
      waiting = waiting.filter((one) => one !== go)
      if (waiting.length === 0) clearTimeout(timer)
      resolve(false)
    }
    const go = (/** @type {boolean} */ hasTurn) => {
      signal.removeEventListener('abort', leave)
      resolve(hasTurn)
    }
    signal.addEventListener('abort', leave, { once: true })
    waiting.push(go)
    callNext()
  })

  /** @param {boolean} hadTurn @returns {Attempt} */
  function createAttempt (hadTurn) {
    let hasTurn = hadTurn
    /** @type {NodeJS.Timeout | undefined} */
    let settling
    return {
      opened () {
        if (!hasTurn) return
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
    get refusal () { return isTurnTaken || waiting.length > 0 || performance.now() < nextAt ? refusal : null },

    /** Resolves when an attempt may be made, or when the signal is aborted. @param {AbortSignal} signal @returns {Promise<Attempt>} */
    async enter (signal) {
      if (refusal === null || signal.aborted) return createAttempt(false)
      const hasTurn = await inLine(signal)
      if (!hasTurn) await sleep(Math.random() * FOLLOW_MS, undefined, { signal }).catch(() => {})
      return createAttempt(hasTurn)
    }
  }
}
