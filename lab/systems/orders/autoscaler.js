/**
 * How many replicas a service should have, as the HorizontalPodAutoscaler of Kubernetes decides: replicas x use / target, rounded up; no
 * change within 10 %; down only to the most that was recommended within the stabilisation window.
 *
 * Source: https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#algorithm-details
 */
import { usageBetween } from '../../serving/usage.js'

const TOLERANCE = 0.1
/** as published */
const TARGET = 0.7
const LEAST = 1
const MOST = 3
/** of a core, that a replica asks for */
const REQUESTED_CORES = 0.5
/** Kubernetes: 15 s, and 300 s; a measurement is shorter */
export const PERIOD_MS = 1000
const STABILISATION_MS = 20_000

/** @param {{ elapsed?: () => number, stabilisationMs?: number }} [options] `elapsed`: monotonic, ms */
export function createScaling ({ elapsed = () => performance.now(), stabilisationMs = STABILISATION_MS } = {}) {
  /** @type {{ atMs: number, replicas: number }[]} */
  let recommended = []
  /** @param {{ replicas: number, use: number }} now `use`: mean share of what a replica asks for @returns {number} wanted replicas */
  return ({ replicas, use }) => {
    const ratio = use / TARGET
    const wanted = Math.abs(ratio - 1) <= TOLERANCE ? replicas : Math.ceil(replicas * ratio)
    const atMs = elapsed()
    recommended = [...recommended.filter((one) => one.atMs > atMs - stabilisationMs),
      { atMs, replicas: Math.min(MOST, Math.max(LEAST, wanted)) }]
    const most = Math.max(...recommended.map((one) => one.replicas))
    return most < replicas ? most : Math.max(replicas, /** @type {any} */ (recommended.at(-1)).replicas)
  }
}

/**
 * Scales a service by the processor time of its processes.
 * @param {import('./service.js').Service} service
 */
function createScaler (service) {
  const wantedOf = createScaling()
  /** @type {Map<import('../../serving/process.js').Process, import('../../serving/usage.js').Usage>} */
  let before = new Map()

  return async () => {
    const { processes } = service
    const usages = await Promise.all(processes.map((one) => one.usage()))
    // without those that have just started
    const uses = processes.flatMap((one, i) => {
      const earlier = before.get(one)
      if (!earlier) return []
      return [usageBetween(earlier, usages[i]).cpuSeconds * 1000 / (usages[i].atMs - earlier.atMs) / REQUESTED_CORES]
    })
    before = new Map(processes.map((one, i) => [one, usages[i]]))
    if (uses.length === 0) return
    const more = wantedOf({ replicas: processes.length, use: uses.reduce((sum, use) => sum + use, 0) / uses.length }) - processes.length
    await Promise.all(Array.from({ length: Math.abs(more) }, more > 0 ? service.add : service.remove))
  }
}

/**
 * Scales each service on its own.
 * @param {import('./service.js').Service[]} services
 * @returns {() => Promise<void>} ends it
 */
export function startAutoscaler (services) {
  const scalers = services.map(createScaler)
  /** @type {Promise<unknown> | null} */
  let running = null
  const timer = setInterval(() => {
    // a process may end meanwhile
    running ??= Promise.all(scalers.map((scale) => scale())).catch(() => {}).finally(() => { running = null })
  }, PERIOD_MS)
  return async () => {
    clearInterval(timer)
    await running
  }
}
