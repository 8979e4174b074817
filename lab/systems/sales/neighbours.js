/**
 * A route beside a burst: people who look at the sale while others buy, and how long they wait.
 *
 *     apart      another process serves them, as a reader does; connections of its own
 *     gateway    the gateway of the burst serves them, with connections of its own
 *     shared     the gateway serves them, on the connections of the claims
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { percentilesOf } from '../../analysis/percentiles.js'
import { startOpened } from '../process.js'

const NEIGHBOURS = new URL('neighbours-process.js', import.meta.url)
export const NEIGHBOURS_AT = Object.freeze(['apart', 'gateway', 'shared'])
const PER_SECOND = 200
const IDLE_MS = 2000

/** @param {URL} url of the process that serves them */
export async function startNeighbours (url) {
  const { ask, stop: close, send } = await startOpened('the neighbours', NEIGHBOURS, { url: url.href, perSecond: PER_SECOND })
  /** of all bursts @type {number[]} */
  const latenciesMs = []
  let failed = 0
  const end = () => ask('end')

  return {
    latenciesMs,
    /** @param {number[]} idleMs */
    figures: (idleMs) => ({ ms: percentilesOf(latenciesMs), idleMs: percentilesOf(idleMs), failed }),

    /** @param {string} sale */
    begin (sale) { send({ event: 'begin', sale }) },

    /** Of a burst. */
    async end () {
      const looked = await end()
      latenciesMs.push(...looked.latenciesMs)
      failed += looked.failed
    },

    /** Without a burst. @param {string} sale @returns {Promise<number[]>} */
    async idle (sale) {
      send({ event: 'begin', sale })
      await sleep(IDLE_MS)
      return (await end()).latenciesMs
    },

    close
  }
}
