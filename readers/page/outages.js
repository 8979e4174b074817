/**
 * When servers were unreachable, as their CPU time over the last minutes shows: it is unknown from the moment in which the reader
 * loses a server until the second sample after it is back.
 */
import { timeOfDay } from './text.js'

const NAMED = 3
/** samples without one server; on a busy machine a single one may be missing */
const LEAST = 2

/** @typedef {{ address: string, from: number, to: number | null }} Outage ms since 1970; `to` null = it lasts */
/** @typedef {{ at: number, cpu: Record<string, number | null> }} Sample `cpu` by address */

/** @param {Sample[]} history @returns {Outage[]} oldest first */
export function outagesOf (history) {
  /** in which the servers are known: without a reply in time, the CPU time of all of them is missing */
  const samples = history.filter(({ cpu }) => Object.values(cpu).some((share) => share !== null))
  const addresses = new Set(samples.flatMap(({ cpu }) => Object.keys(cpu)))
  return [...addresses].flatMap((address) => outagesOfOne(samples, address)).sort((a, b) => a.from - b.from)
}

/** @param {Sample[]} samples @param {string} address @returns {Outage[]} */
function outagesOfOne (samples, address) {
  /** @type {Outage[]} */
  const outages = []
  const missing = (/** @type {Sample} */ { cpu }) => (cpu[address] ?? null) === null
  let from = -1
  samples.forEach((sample, i) => {
    if (missing(sample)) {
      // before the first known one, the server was not there
      if (from < 0 && i > 0 && !missing(samples[i - 1])) from = i
      return
    }
    if (from >= 0 && i - from >= LEAST) outages.push({ address, from: samples[from].at, to: sample.at })
    from = -1
  })
  if (from >= 0 && samples.length - from >= LEAST) outages.push({ address, from: samples[from].at, to: null })
  return outages
}

/**
 * @param {Outage[]} outages
 * @param {(address: string, atMs: number) => string} roleOf at that time
 * @returns {string} one sentence for each of the last ones
 */
export function outagesText (outages, roleOf) {
  const earlier = outages.length - NAMED
  const sentences = outages.slice(-NAMED).map(({ address, from, to }) => {
    const name = `${roleOf(address, from)} ${address}`
    return to === null
      ? `${name} has been unreachable since ${timeOfDay(from)}`
      : `${name} was unreachable from ${timeOfDay(from)} to ${timeOfDay(to)}`
  })
  if (earlier > 0) sentences.unshift(`${earlier} earlier`)
  return sentences.length > 0 ? `Servers: ${sentences.join('; ')}.` : ''
}
