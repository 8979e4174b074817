/** Metrics of commands that a rule must allow, in the process that submits them. */
import { Counter, Histogram } from 'prom-client'
import { gauge } from './scrape.js'

/** Metrics of consumers: what they own, how far they are, what failed. */

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
    return samples.flatMap((sample) => sample.status === 'fulfilled' ? [sample.value] : [])
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

/**
 * @typedef {{ sent: (commands: number) => void, waited: (ms: number) => void, dropped: (reason: 'full' | 'late' | 'backlog') => void,
 *   answered: () => void, asked: (why: 'behind' | 'unknown' | 'open') => void, ruleFailed: (how: 'failed' | 'stopped') => void,
 *   clockBack: () => void }} AdmissionMetrics `ruleFailed`: of users; `clockBack`: of the primary of a partition
 */

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]

/**
 * @param {import('prom-client').Registry} registry
 * @returns {(system: string) => AdmissionMetrics} of a system such as `auctions`
 */
export function createAdmissionMetrics (registry) {
  const common = { labelNames: ['system'], registers: [registry] }
  const calls = new Counter({ name: 'freshet_admission_calls_total', help: 'Total calls of the script that decides', ...common })
  const commands = new Counter({ name: 'freshet_admission_commands_total', help: 'Total commands in these calls', ...common })
  const queued = new Histogram({
    ...common, name: 'freshet_admission_queued_seconds', help: 'Time of a command from its arrival to its call', buckets: SECONDS
  })
  const dropped = new Counter({
    ...common,
    name: 'freshet_admission_dropped_total',
    help: 'Total commands that were not decided, by reason',
    labelNames: ['system', 'reason']
  })
  const cached = new Counter({
    ...common,
    name: 'freshet_admission_cache_total',
    help: 'Total commands that the rejection cache saw: answered, or asked of the server, by reason',
    labelNames: ['system', 'outcome']
  })
  const failed = new Counter({
    ...common,
    name: 'freshet_admission_rule_failures_total',
    help: 'Total commands on which a rule of a user failed, or did not end and was stopped',
    labelNames: ['system', 'how']
  })
  const back = new Counter({
    ...common,
    name: 'freshet_admission_clock_back_total',
    help: 'Total times that the clock of the primary of a partition went back by more than a second'
  })
  return (system) => ({
    /** @param {number} n commands of a call */
    sent (n) {
      calls.inc({ system })
      commands.inc({ system }, n)
    },
    /** @param {number} ms */
    waited: (ms) => queued.observe({ system }, ms / 1000),
    /** @param {'full' | 'late' | 'backlog'} reason */
    dropped: (reason) => dropped.inc({ system, reason }),
    answered: () => cached.inc({ system, outcome: 'answered' }),
    /** @param {'behind' | 'unknown' | 'open'} why */
    asked: (why) => cached.inc({ system, outcome: why }),
    /** @param {'failed' | 'stopped'} how */
    ruleFailed: (how) => failed.inc({ system, how }),
    clockBack: () => back.inc({ system })
  })
}
