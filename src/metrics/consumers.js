/** Metrics of consumers: what they own, how far they are, what failed. */
import { Counter } from 'prom-client'
import { gauge } from './scrape.js'

/**
 * @typedef {{ finished: (entries: number) => void, failed: () => void, deadLettered: () => void }} ConsumerMetrics
 * @typedef {{ owned: () => number[], deadLetters: () => Promise<number>, lagMs: () => Promise<number> }} Figures of one system; an error
 *   leaves the series out
 */

/**
 * @param {import('prom-client').Registry} registry
 * @param {() => Iterable<[system: string, figures: Figures]>} systems
 * @returns {(system: string) => ConsumerMetrics}
 */
export function createConsumerMetrics (registry, systems) {
  const common = { labelNames: ['system'], registers: [registry] }
  const entries = new Counter({ name: 'freshet_consumer_entries_total', help: 'Total entries of outboxes that were finished', ...common })
  const failures = new Counter({ name: 'freshet_consumer_failures_total', help: 'Total attempts of consumers that failed', ...common })
  const letters = new Counter({ name: 'freshet_dead_letters_total', help: 'Total entries that became dead letters', ...common })
  /** @param {(figures: Figures) => number | Promise<number>} read */
  const each = (read) => async () => {
    const samples = await Promise.allSettled([...systems()].map(async ([system, figures]) =>
      /** @type {[Record<string, string>, number]} */ ([{ system }, await read(figures)])))
    return samples.flatMap((one) => one.status === 'fulfilled' ? [one.value] : [])
  }
  const labels = ['system']
  gauge(registry, { name: 'freshet_consumer_partitions', help: 'Partitions that this process owns', labels },
    each(({ owned }) => owned().length))
  gauge(registry, { name: 'freshet_dead_letters', help: 'Dead letters in the partitions that this process owns', labels },
    each(({ deadLetters }) => deadLetters()))
  gauge(registry, { name: 'freshet_consumer_lag_seconds', help: 'Age of the oldest entry that is not finished', labels },
    each(async ({ lagMs }) => await lagMs() / 1000))
  return (system) => ({
    finished: (n) => entries.inc({ system }, n),
    failed: () => failures.inc({ system }),
    deadLettered: () => letters.inc({ system })
  })
}
