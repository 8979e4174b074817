/**
 * What the maps of clusters and Sentinels share: answers that they refuse, who watches them, and which replica took over.
 *
 * Answers of servers about servers that are not used, because they are malformed or cannot be trusted. The process counts them
 * (metric freshet_server_answers_refused_total); each map writes them to the log of the process, each kind at most once in ten seconds.
 *
 *     map        CLUSTER SLOTS of a node: the map before is kept
 *     redirect   MOVED without a slot or an address: the command waits and is sent again
 *     owner      a server that a cluster names is not a node of a cluster: it gets no command
 *     primary    a server that Sentinels name as primary, or an answer of a Sentinel: it gets no command
 *     replicas   what a primary lists as its replicas: those before are kept
 *
 * @typedef {'map' | 'redirect' | 'owner' | 'primary' | 'replicas'} About
 * @typedef {ReturnType<typeof createRefusals>} Refusals
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection } from './connection.js'

/**
 * Which replica of a primary that is away took over. Asking them for their roles shows a failover at once, and costs no request for the
 * map of the cluster.
 */

const LOOK_MS = 100
const LOOK_FOR_MS = 15_000
const DEADLINE_MS = 1000

/**
 * @param {string[]} urls of the replicas
 * @param {{ map: import('./slot-map.js').SlotMap, isAway: () => boolean }} parts `isAway`: false ends it
 * @returns {Promise<string | null>} null = none of them did
 */
export const firstPromoted = (urls, parts) => Promise.any(urls.map((url) => untilPromoted(url, parts))).catch(() => null)

/** @param {string} url @param {Parameters<typeof firstPromoted>[1]} parts @returns {Promise<string>} the same; rejects if it is not */
async function untilPromoted (url, { map, isAway }) {
  const connection = await openConnection(url, { name: 'freshet-slots', deadlineMs: DEADLINE_MS, map })
  const endMs = performance.now() + LOOK_FOR_MS
  try {
    while (isAway() && performance.now() < endMs) {
      if (String((await connection.send('ROLE'))[0]) === 'master') return url
      await sleep(LOOK_MS, undefined, { ref: false })
    }
    throw new Error('it is a replica still')
  } finally {
    connection.close()
  }
}

/**
 * What wants to hear of changes of a map.
 * @param {() => void} refresh is called periodically while something watches @param {() => void} onUnused @param {number} periodMs
 */
export function createWatchers (refresh, onUnused, periodMs) {
  /** @type {Set<() => void>} */
  const watchers = new Set()
  /** @type {NodeJS.Timeout | undefined} */
  let period

  return {
    watched: () => watchers.size > 0,
    changed () { for (const watcher of [...watchers]) watcher() },

    /** @param {() => void} watcher is called after a change @returns {() => void} ends that */
    watch (watcher) {
      watchers.add(watcher)
      period ??= setInterval(refresh, periodMs * (0.9 + Math.random() / 5)).unref()
      return () => {
        if (!watchers.delete(watcher) || watchers.size > 0) return
        clearInterval(period)
        period = undefined
        onUnused()
      }
    }
  }
}

const AGAIN_MS = 10_000

/** @type {Record<About, number>} */
const counts = { map: 0, redirect: 0, owner: 0, primary: 0, replicas: 0 }

/** @returns {[about: string, total: number][]} of this process */
export const refusedAnswers = () => Object.entries(counts)

/** @param {About} about */
export const countRefused = (about) => { counts[about]++ }

export function createRefusals () {
  /** @type {Pick<import('pino').Logger, 'warn'> | undefined} */
  let log
  /** @type {Map<About, number>} */
  const loggedMs = new Map()

  return {
    /** The first log that is given is used. @param {Pick<import('pino').Logger, 'warn'> | undefined} next */
    logTo (next) { log ??= next },

    /** @param {About} about @param {Error & { code?: string }} error */
    add (about, { code, message }) {
      countRefused(about)
      const nowMs = performance.now()
      if (!log || nowMs - (loggedMs.get(about) ?? -Infinity) < AGAIN_MS) return
      loggedMs.set(about, nowMs)
      log.warn({ about, code, reason: message }, 'answer of a server refused')
    }
  }
}
