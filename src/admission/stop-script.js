/**
 * Stops a rule of a system that never ends. While it runs the server answers nothing, until its busy threshold (5 s by default). From
 * then on it answers BUSY, and FUNCTION KILL stops a function that has written nothing.
 *
 *     each process, each second, each primary:  FUNCTION STATS ──▶ a function of this system? ──▶ FUNCTION KILL
 *
 * Another program's script must not be stopped. Of scripts a busy server says nothing, but it names the function that it runs, so rules are
 * functions (libraryOf). Its caller may have ended: every process of the system stops it.
 *
 * A primary that a replica has replaced because of that rule is asked until it answers, so that it is stopped, and becomes a replica.
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection } from '../store/index.js'

const EVERY_MS = 1000
/** After FUNCTION KILL it takes as long until the server answers again. */
const SOON_MS = 100
/** How long a server that is no primary now, and cannot be reached, is asked. */
const LOST_MS = 600_000
/** Reply timeout of a call. A server whose busy threshold is longer is lost before its script can be stopped. */
export const REPLY_MS = 15_000

/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {ReturnType<typeof createStopper>} Stopper */

/**
 * @param {Connection} connection @param {string} owner
 * @returns {Promise<'nothing' | 'own' | 'other'>} what keeps the server busy
 */
async function busyWith (connection, owner) {
  try {
    const [, running] = await connection.sendDispensable('FUNCTION', 'STATS')
    if (running === null) return 'nothing'
    const at = running.findIndex((/** @type {unknown} */ word) => String(word) === 'name')
    return String(running[at + 1]).startsWith(`${owner}_`) ? 'own' : 'other'
  } catch (error) {
    if (error.reply === 'BUSY') return 'other'
    throw error
  }
}

/**
 * @param {{ name: string, owner: string, primaries: () => string[], log: Pick<import('pino').Logger, 'error'> }} options `name` of
 *   connections; `owner`: what the names of the functions of this system begin with; URLs of the `primaries` now
 */
export function createStopper ({ name, owner, primaries, log }) {
  const stop = new AbortController()
  const { signal } = stop
  // one listener and one sleep of each server
  setMaxListeners(0, signal)
  /** Servers that are asked, by URL: when each was asked once, and when it is asked no more. @type {Map<string, { once: Promise<unknown>,
   *   ended: Promise<void> }>} */
  const asked = new Map()
  let isForbidden = false

  /** @param {Connection} connection */
  async function kill (connection) {
    await connection.sendDispensable('FUNCTION', 'KILL').then(
      () => log.error({ server: connection.address }, 'a rule ran longer than the server allows, and was stopped'),
      (error) => {
        if (error.outcome === 'forbidden') throw error
        if (error.reply !== 'NOTBUSY') log.error({ reason: error.message }, 'a rule that never ends cannot be stopped')
      })
  }

  /** @param {any} error */
  function noteForbidden ({ outcome, message }) {
    if (outcome !== 'forbidden' || isForbidden) return
    isForbidden = true
    log.error({ reason: message }, 'this process cannot stop a rule that never ends')
  }

  /** The database does not matter, and a busy server selects none. @param {string} url */
  function open (url) {
    const target = new URL(url)
    target.pathname = ''
    return openConnection(target.href, { name, deadlineMs: REPLY_MS, signal })
  }

  /** Until it is no primary and was not busy. @param {string} url @param {(value?: unknown) => void} onAsked */
  async function ask (url, onAsked) {
    /** @type {Connection | null} */
    let connection = null
    const giveUp = () => connection?.close()
    signal.addEventListener('abort', giveUp)
    let answeredMs = performance.now()
    while (!signal.aborted && !isForbidden) {
      let isBusy = true
      try {
        connection ??= await open(url)
        const busy = await busyWith(connection, owner)
        answeredMs = performance.now()
        isBusy = busy !== 'nothing'
        if (busy === 'own') await kill(connection)
      } catch (error) {
        noteForbidden(error)
        connection?.close()
        connection = null
      }
      onAsked()
      const isLost = performance.now() - answeredMs > LOST_MS
      if ((!isBusy || isLost) && !primaries().includes(url)) break
      await sleep(isBusy && connection ? SOON_MS : EVERY_MS, undefined, { signal }).catch(() => {})
    }
    signal.removeEventListener('abort', giveUp)
    connection?.close()
  }

  async function look () {
    if (isForbidden || signal.aborted) return
    for (const url of primaries()) {
      if (asked.has(url)) continue
      /** @type {Promise<void>} */
      let ended = Promise.resolve()
      const once = new Promise((resolve) => { ended = ask(url, resolve).finally(() => asked.delete(url)) })
      asked.set(url, { once: Promise.race([once, ended]), ended })
    }
    await Promise.all([...asked.values()].map(({ once }) => once))
  }
  const timer = setInterval(look, EVERY_MS).unref()

  return {
    /** Resolves when each primary was asked once. */
    look,

    async close () {
      clearInterval(timer)
      stop.abort()
      await Promise.all([...asked.values()].map(({ ended }) => ended))
    }
  }
}
