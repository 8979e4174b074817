/**
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
