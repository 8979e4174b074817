/**
 * Asks the primary about keys that a replica does not have. A replica may not have yet what was just acknowledged, so it never denies a
 * key by itself.
 *
 *     key -> waits -> is asked for with all keys that wait, one round trip at a time -> its value, or null
 *
 * A key that was absent is not asked for again within 20 ms. Requests for it wait until then, because it may be created at any time. So
 * clients that make up names cost the primary one batch per round trip at most.
 *
 * @typedef {(words: [command: string, key: string, ...rest: string[]]) => Promise<any>} LookUp sends a command that reads a key; null = the
 *   primary does not have it
 * @typedef {{ questions: number, refused: number }} LookupCounts `questions`: round trips; `refused`: keys, because too many wait
 * @typedef {ReturnType<typeof createLookups>} Lookups
 */
import { setImmediate as turn } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { expectStillPrimary } from './nodes.js'

const AGAIN_MS = 20
const MAX_WAITING = 10_000
/** of a batch, so that it delays other commands of the primary by less than a millisecond */
const MAX_AT_ONCE = 500
/** of absent keys that are remembered */
const MAX_ABSENT = 10_000

/** @typedef {{ name: string, words: Parameters<LookUp>[0], reply: PromiseWithResolvers<any> }} Waiting `name`: its words, as text */

/** @returns {LookupCounts} of all primaries of a process */
export const createLookupCounts = () => ({ questions: 0, refused: 0 })

/** @param {() => import('./connection.js').Connection} primary throws when it cannot be asked @param {LookupCounts} counts */
export function createLookups (primary, counts) {
  /** by name @type {Map<string, Waiting>} */
  const waiting = new Map()
  /** those that wait and may be asked for now @type {Waiting[]} */
  const due = []
  /** When names were absent, the oldest first. @type {Map<string, number>} */
  const absent = new Map()
  let isAsking = false

  async function askDue () {
    if (isAsking) return
    isAsking = true
    // requests of the same turn are asked together
    await turn()
    while (due.length > 0) await ask(due.splice(0, MAX_AT_ONCE))
    isAsking = false
  }

  /** @param {Waiting[]} some */
  async function ask (some) {
    // a request that comes from now on needs a later answer
    for (const { name } of some) waiting.delete(name)
    try {
      const connection = primary()
      counts.questions++
      const replies = Promise.allSettled(some.map(({ words }) => connection.sendDispensable(...words)))
      // behind the others: a primary that was demoted before it answered does not count
      await expectStillPrimary(connection)
      for (const [i, reply] of (await replies).entries()) settle(some[i], reply)
    } catch (error) {
      for (const lookup of some) lookup.reply.reject(error)
    }
  }

  /** @param {Waiting} lookup @param {PromiseSettledResult<any>} reply */
  function settle ({ name, reply }, { status, ...of }) {
    if (status === 'rejected') return reply.reject(/** @type {PromiseRejectedResult} */ (of).reason)
    const { value } = /** @type {PromiseFulfilledResult<any>} */ (of)
    if (value === null) note(name)
    reply.resolve(value)
  }

  /** @param {string} name that is absent */
  function note (name) {
    absent.delete(name)
    absent.set(name, performance.now())
    for (const [oldest, atMs] of absent) {
      if (absent.size <= MAX_ABSENT && performance.now() - atMs < AGAIN_MS) break
      absent.delete(oldest)
    }
  }

  return {
    /** @type {LookUp} @throws {FreshetError} LOOKUPS_FULL, and why the primary cannot be asked */
    lookUp (words) {
      const name = words.join(' ')
      const pending = waiting.get(name)
      if (pending) return pending.reply.promise
      if (waiting.size >= MAX_WAITING) {
        counts.refused++
        return Promise.reject(new FreshetError('LOOKUPS_FULL'))
      }
      const lookup = { name, words, reply: deferred() }
      waiting.set(name, lookup)
      const waitMs = (absent.get(name) ?? -Infinity) + AGAIN_MS - performance.now()
      const start = () => {
        due.push(lookup)
        askDue()
      }
      if (waitMs > 0) setTimeout(start, waitMs).unref()
      else start()
      return lookup.reply.promise
    }
  }
}

/** @returns {PromiseWithResolvers<any>} */
function deferred () {
  let resolve, reject
  const promise = new Promise((...settlers) => { [resolve, reject] = settlers })
  return /** @type {any} */ ({ promise, resolve, reject })
}
