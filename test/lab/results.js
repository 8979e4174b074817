/**
 * Results as the lab writes them, without having measured: what an arm costs is given, rounds differ a little, always
 * in the same way. Everything else (invariants, marks, outcomes) is as of a run that went well, and may be changed.
 */

const VALUE_BYTES = 128
/** Rounds differ by these parts, in another order for each arm: intervals are not empty, medians are what was given. */
const UNEVEN = [-0.03, -0.012, 0, 0.015, 0.028]

/**
 * @param {any} [plan] what is not given is of 007
 * @returns {import('../../lab/plan/index.js').Plan}
 */
export const planOf = (plan = {}) => /** @type {any} */ ({
  name: '007-reference-or-value',
  number: '007',
  title: 'Reference or actual value?',
  question: 'Does it cost less to keep values inside the sorted set than beside it?',
  baseline: 'ids',
  ceiling: 'blob',
  fixed: { ids: 100_000, valueBytes: VALUE_BYTES },
  seconds: 6,
  warmUpSeconds: 2,
  rounds: 5,
  measures: ['primaryCpuMicrosPerItem', 'replicaCpuMicrosPerItem', 'primaryCpuPercent', 'behindMsP99', 'itemsPerSecond'],
  differs: ['values keeps every version of an item, ids the newest alone'],
  expected: [{ arm: 'values', against: 'ids', direction: 'less' }],
  fixedAndMarginal: false,
  published: {
    source: 'README of the published experiment, table "reference-or-value"',
    conditions: 'r5.large, 6 writers of 50,000 items/s, values that never change',
    unit: 'primary CPU percent of the node (50 = one core)',
    figures: [{ label: 'r5.large, actual value', arm: 'values', value: 26 }, { label: 'r5.large, reference', arm: 'ids', value: 43 },
      { label: 'r6g.large, script', value: 48 }],
    ratios: [{ arm: 'values', against: 'ids', value: 0.605, label: '26 / 43, r5.large' }]
  },
  notControlled: ['load and servers share two processor cores'],
  ...plan,
  arms: Object.fromEntries(Object.entries(plan.arms ?? {
    ids: { settings: { layout: 'ids' } },
    values: { settings: { layout: 'values' } },
    reference: { load: 'reference' },
    blob: { load: 'blob' }
  })
    .map(([name, arm]) => [name, { load: 'writer', settings: {}, ...arm }])),
  levels: Object.fromEntries(Object.entries(plan.levels ?? { '50 k items/s': { settings: { rate: 50_000 } } })
    .map(([name, level]) => [name, { settings: {}, without: [], ...level }]))
})

/**
 * @param {object} options
 * @param {import('../../lab/plan/index.js').Plan} [options.plan]
 * @param {Record<string, number | ((level: string) => number)>} options.costs arm -> processor time of the primary, microseconds an item
 * @param {number} [options.rounds]
 * @param {boolean} [options.quick]
 * @param {(sample: any) => object | void} [options.change] what of a sample is otherwise
 * @returns {import('../../lab/analysis/index.js').Result}
 */
export function resultOf ({ plan = planOf(), costs, rounds = 5, quick = false, change = () => {} }) {
  const names = [...Object.keys(plan.arms), `${plan.baseline} (A/A)`]
  const samples = Array.from({ length: rounds }, (_, i) =>
    i + 1).flatMap((round) => Object.entries(plan.levels).flatMap(([level, { without, settings }]) =>
    names.filter((arm) => !without.includes(arm)).map((arm, index) => {
      const cost = costs[arm.replace(/ \(A\/A\)$/, '')]
      const micros = (typeof cost === 'function' ? cost(level) : cost) * (1 + UNEVEN[(round * 2 + index) % UNEVEN.length])
      const sample =
        sampleOf({ arm, level, round, micros, rate: Number(settings.rate ?? plan.fixed.rate ?? 50_000), seconds: plan.seconds })
      return { ...sample, ...change(sample) }
    })))
  return /** @type {any} */ ({
    format: 1,
    experiment: plan.name,
    commit: '68121d0c2a4b7b1de2f0a9e55c1f3d4a6b7c8d9e',
    dirty: false,
    engine: 'valkey 9.1.2',
    node: 'v20.20.2',
    machine: { cpu: 'AMD EPYC 7763 64-Core Processor', cores: 2, memoryBytes: 8 * 2 ** 30, platform: 'linux x64' },
    startedAt: '2026-07-30T10:00:00.000Z',
    finishedAt: '2026-07-30T10:12:00.000Z',
    settings: {
      seconds: plan.seconds,
      warmUpSeconds: plan.warmUpSeconds,
      rounds,
      rttMs: 0,
      target: null,
      quick,
      engines: [],
      arms: names,
      measurements: samples.length
    },
    plan,
    samples
  })
}

/** @param {{ arm: string, level: string, round: number, micros: number, rate: number, seconds: number }} of */
function sampleOf ({ arm, level, round, micros, rate, seconds }) {
  const items = rate * seconds
  const acknowledged = rate * (seconds + 2)
  const node = (/** @type {string} */ role, /** @type {number} */ port, /** @type {number} */ micros) => ({
    role,
    address: `127.0.0.1:${port}`,
    engine: 'valkey 9.1.2',
    cpuSeconds: micros * items / 1e6,
    cpuMicrosPerItem: micros,
    cpuPercent: micros * rate / 1e4,
    netInputBytes: items * (VALUE_BYTES + 40),
    netOutputBytes: items * 2,
    usedMemoryBytes: 40 * 2 ** 20,
    commands: items / 500,
    scriptSeconds: null,
    calls: { zadd: items / 1000 }
  })
  return {
    arm,
    level,
    round,
    startedAt: `2026-07-30T10:${String(round).padStart(2, '0')}:00.000Z`,
    seconds,
    planned: items,
    offered: items,
    items,
    refused: {},
    dropped: 0,
    failed: 0,
    retried: 0,
    batches: items / 1000,
    bytes: items * VALUE_BYTES,
    itemsAcknowledged: acknowledged,
    itemsPresent: acknowledged,
    ledger: { acknowledged, versions: 100_000, missing: 0, foreign: 0, misplaced: 0, detail: [], nodesEqual: true },
    behindMs: { p50: 0.4, p95: 1.2, p99: 2 + round / 10, max: 9 },
    generator: { processes: 1, cpuSeconds: seconds * 0.4, loopUse: 0.4 },
    nodes: [node('primary', 7001, micros), node('replica', 7002, micros * 0.7), node('replica', 7003, micros * 0.71)],
    machine: { loadAverage: 1.2, stealPercent: 0.1, otherCores: 0.02 },
    marks: [],
    invariants: [
      { name: 'items acknowledged are present', ok: true, detail: `${acknowledged} acknowledged, ${acknowledged} present, 0 missing` },
      { name: 'replicas hold the same as the primary', ok: true, detail: 'same digest on all nodes' }
    ],
    valid: true,
    error: null
  }
}

/** An arm that lost items, as the checker says it. @param {any} sample */
export const lossy = (sample) => ({
  itemsPresent: sample.itemsAcknowledged - 12,
  ledger: { ...sample.ledger, missing: 12 },
  valid: false,
  invariants: sample.invariants.map((/** @type {{ name: string }} */ invariant) => invariant.name === 'items acknowledged are present'
    ? { ...invariant, ok: false, detail: `${sample.itemsAcknowledged} acknowledged, ${sample.itemsAcknowledged - 12} present, 12 missing` }
    : invariant)
})

/** An arm that ended by a fault. @param {any} _sample */
export const ended = (_sample) => ({
  seconds: 0,
  offered: 0,
  items: 0,
  itemsAcknowledged: 0,
  itemsPresent: 0,
  ledger: null,
  behindMs: null,
  flushMs: null,
  generator: null,
  machine: null,
  nodes: [],
  invariants: [],
  valid: false,
  error: { code: 'SERVER_LOST', message: 'a server ended during the measurement: killed by SIGKILL' }
})
