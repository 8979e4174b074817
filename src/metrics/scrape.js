/** Metrics whose values are read at each scrape. */
import { Counter, Gauge } from 'prom-client'

/** @typedef {import('prom-client').Registry} Registry */
/** @typedef {{ name: string, help: string, labels?: string[] }} Named */
/** @typedef {Iterable<[labels: Record<string, string>, value: number]>} Samples one per series; other series are absent */

/** @param {Registry} registry @param {Named} named @param {() => Samples | Promise<Samples>} read must not throw, or the scrape fails */
export function counter (registry, { name, help, labels = [] }, read) {
  // eslint-disable-next-line no-new
  new Counter({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect () { return fill(this, read(), (of, value) => this.inc(of, value)) }
  })
}

/** @param {Registry} registry @param {Named} named @param {() => Samples | Promise<Samples>} read must not throw, or the scrape fails */
export function gauge (registry, { name, help, labels = [] }, read) {
  // eslint-disable-next-line no-new
  new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    collect () { return fill(this, read(), (of, value) => this.set(of, value)) }
  })
}

/** @param {number} value @returns {Samples} of a metric without labels */
export const unlabelled = (value) => [[{}, value]]

/**
 * Synchronous if the samples are: prom-client awaits promises only.
 * @param {{ reset: () => void }} metric @param {Samples | Promise<Samples>} samples
 * @param {(labels: Record<string, string>, value: number) => void} put
 */
function fill (metric, samples, put) {
  if (samples instanceof Promise) return samples.then((here) => replace(metric, here, put))
  replace(metric, samples, put)
}

/** @param {{ reset: () => void }} metric @param {Samples} samples @param {(labels: Record<string, string>, value: number) => void} put */
function replace (metric, samples, put) {
  metric.reset()
  for (const [labels, value] of samples) put(labels, value)
}
