/**
 * What a stored sample says of itself, worked out anew from its own figures: whether it has what a sample has, and
 * whether one part of it contradicts another. A file that was edited afterwards is found by that, unless all of it was
 * made up.
 *
 * @typedef {import('./measures.js').Sample} Sample
 */
import { MARKS, marksOf } from './marks.js'

/** What samples of every version have. */
const TEXTS = ['arm', 'level']
const NUMBERS = ['round', 'seconds', 'offered', 'items', 'dropped', 'failed', 'itemsAcknowledged', 'itemsPresent']
const RECORDS = { refused: [], ledger: ['acknowledged', 'missing', 'foreign', 'misplaced'], behindMs: ['p50', 'p95', 'p99', 'max'], generator: ['processes', 'cpuSeconds', 'loopUse'], machine: [] }
const FLUSHES = { flushMs: ['p50', 'p95', 'p99', 'max'] }
const LISTS = ['nodes', 'marks', 'invariants']
const SERVING = { requests: ['sent', 'answered', 'missing', 'errors', 'timeouts'], answers: ['looked', 'wrong'], client: ['loopUse'] }
const FRESHNESS = { freshness: ['p50', 'p95', 'p99', 'max', 'due', 'seen'] }
const BETWEEN = { betweenMs: ['p50', 'p95', 'p99', 'max'] }
const EVERYTHING = { everything: ['startUpMs', 'dueItems', 'mostItems', 'liveItems'] }
const FOLLOWING = { following: ['openAtBegin', 'openAtEnd', 'resets', 'events', 'bytes', 'mostEvents', 'readEvents', 'items', 'loopDelayMsP99'] }
const LOOKS_OF_FOLLOWING = ['memoryBytes', 'liveBytes']
const LISTS_OF_EVERYTHING = ['firstMs', 'lastMs', 'delayMs', 'items']
/** The figures of INFO are stored as they were read; divisions may differ in the last digits. */
const NEAR = 1e-6

/**
 * @param {any} sample that did not end by a fault
 * @returns {string[]} what it lacks, or has in another form
 */
export function lacksOf (sample) {
  return [
    ...TEXTS.filter((name) => typeof sample[name] !== 'string'),
    ...NUMBERS.filter((name) => !Number.isFinite(sample[name])),
    ...recordsLacking(sample, RECORDS),
    ...(sample.flushMs === undefined ? [] : recordsLacking(sample, FLUSHES)),
    ...LISTS.flatMap((name) => !Array.isArray(sample[name]) ? [name] : name === 'marks' ? [] : sample[name].flatMap((/** @type {unknown} */ one, /** @type {number} */ i) => isRecord(one) ? [] : [`${name}[${i}]`])),
    ...(sample.serving === undefined ? [] : isRecord(sample.serving) ? recordsLacking(sample.serving, SERVING).map((name) => `serving.${name}`) : ['serving']),
    ...(isRecord(sample.serving) && sample.serving.latencyMs === undefined ? ['serving.latencyMs'] : []),
    ...(isRecord(sample.serving) ? probesLacking(sample.serving) : []),
    ...(isRecord(sample.serving?.requests) && !isRecord(sample.serving.requests.byStatus) ? ['serving.requests.byStatus'] : [])
  ]
}

/** @param {any} serving @returns {string[]} of what is asked beside pages */
const probesLacking = ({ freshness, everything, following }) => [
  ...(freshness ? recordsLacking({ freshness }, FRESHNESS).concat(recordsLacking(freshness, BETWEEN).map((name) => `freshness.${name}`)) : []),
  ...(following ? recordsLacking({ following }, FOLLOWING).concat(LOOKS_OF_FOLLOWING.filter((name) => !Array.isArray(following[name])).map((name) => `following.${name}`)) : []),
  ...(everything ? recordsLacking({ everything }, EVERYTHING).concat(LISTS_OF_EVERYTHING.filter((name) => !Array.isArray(everything[name])).map((name) => `everything.${name}`)) : [])
].map((name) => `serving.${name}`)

/** @param {any} of @param {Record<string, string[]>} records numbers of each @returns {string[]} */
const recordsLacking = (of, records) => Object.entries(records).flatMap(([name, numbers]) =>
  isRecord(of[name]) ? numbers.filter((number) => !Number.isFinite(of[name][number])).map((number) => `${name}.${number}`) : [name])

/** @param {unknown} value */
const isRecord = (value) => value !== null && typeof value === 'object' && !Array.isArray(value)

/**
 * @param {Sample} sample that calls itself valid, and lacks nothing
 * @returns {string[]} each a sentence with what is told and what it should be
 */
export function contradictionsOf (sample) {
  const { items, seconds, windowSeconds, ledger, itemsAcknowledged, nodes, serving, invariants } = sample
  return [
    ...(invariants.some(({ ok }) => !ok) ? ['calls itself valid with an invariant that failed'] : []),
    ...(seconds > 0 ? [] : [`seconds ${seconds}`]),
    ...(itemsAcknowledged === ledger.acknowledged ? [] : [`itemsAcknowledged ${itemsAcknowledged}, and the ledger has ${ledger.acknowledged}`]),
    ...(ledger.verified === undefined || ledger.verified === ledger.versions ? [] : [`${ledger.verified} versions verified, and ${ledger.versions} must be there`]),
    ...nodes.flatMap(({ role, address, cpuSeconds, cpuMicrosPerItem, cpuPercent }) => {
      const of = `${role} ${address}`
      return [
        ...unlike(`${of}: cpuMicrosPerItem`, cpuMicrosPerItem, cpuSeconds * 1e6 / items),
        ...(windowSeconds === undefined ? [] : unlike(`${of}: cpuPercent`, cpuPercent, cpuSeconds / windowSeconds * 100))
      ]
    }),
    ...marksUnlike(sample),
    ...(serving ? servingUnlike(serving) : [])
  ]
}

/** @param {Sample} sample */
function marksUnlike (sample) {
  const due = marksOf(sample)
  const lacking = due.filter((mark) => !sample.marks.includes(mark))
  const extra = Object.keys(MARKS).filter((mark) => mark !== 'relay-bound' && sample.marks.includes(mark) && !due.includes(mark))
  return [
    ...lacking.map((mark) => `is not marked ${mark}, and its figures are`),
    ...extra.map((mark) => `is marked ${mark}, and its figures are not`)
  ]
}

/** @param {import('./serving/figures.js').ServingFigures} serving */
function servingUnlike ({ asks, seconds, requests: { answered }, requestsPerSecond, cpuSeconds, cpuMicrosPerRequest }) {
  // a request is a stream then, and neither says anything
  if (asks === 'push') return [requestsPerSecond, cpuMicrosPerRequest].some((figure) => figure !== null) ? ['has figures of requests, and its clients are pushed to'] : []
  return [
    ...unlike('serving.requestsPerSecond', requestsPerSecond, answered / seconds),
    ...(answered > 0 ? unlike('serving.cpuMicrosPerRequest', cpuMicrosPerRequest, cpuSeconds * 1e6 / answered) : [])
  ]
}

/** @param {string} name @param {number | null} told @param {number} due */
const unlike = (name, told, due) => told !== null && Math.abs(told - due) <= NEAR * Math.abs(due) ? [] : [`${name} ${told}; expected ${due}`]
