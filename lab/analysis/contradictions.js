/**
 * Contradictions inside a stored sample, calculated from its own figures: missing fields, and parts that do not match. This
 * finds files that were edited.
 *
 * @typedef {import('../run/sample.js').Sample} Sample
 */
import { decidedOf } from '../../src/pipeline/index.js'
import { MARKS, marksOf } from './marks.js'

/** What samples of every version have. */
const TEXTS = ['arm', 'level']
const NUMBERS = ['round', 'seconds', 'offered', 'items', 'dropped', 'failed', 'itemsAcknowledged', 'itemsPresent']
const RECORDS = {
  refused: [],
  ledger: ['acknowledged', 'missing', 'foreign', 'misplaced'],
  behindMs: ['p50', 'p95', 'p99', 'max'],
  generator: ['processes', 'cpuSeconds', 'loopUse'],
  machine: []
}
const { ledger: _ledger, ...RECORDS_OF_BIDS } = RECORDS
const FLUSHES = { flushMs: ['p50', 'p95', 'p99', 'max'] }
const LISTS = ['nodes', 'marks', 'invariants']
const SERVING = { requests: ['sent', 'answered', 'missing', 'errors', 'timeouts'], answers: ['looked', 'wrong'], client: ['loopUse'] }
/** of serving, where it has them @type {Record<string, { numbers: string[], records?: Record<string, string[]>, lists?: string[] }>} */
const PROBES = {
  freshness: { numbers: ['p50', 'p95', 'p99', 'max', 'due', 'seen'], records: { betweenMs: ['p50', 'p95', 'p99', 'max'] } },
  following: {
    numbers: ['openAtBegin', 'openAtEnd', 'resets', 'events', 'bytes', 'mostEvents', 'readEvents', 'items', 'loopDelayMsP99'],
    lists: ['memoryBytes', 'liveBytes']
  },
  everything: { numbers: ['startUpMs', 'dueItems', 'mostItems', 'liveItems'], lists: ['firstMs', 'lastMs', 'delayMs', 'items'] }
}
/** relative; figures of INFO are stored as read, so quotients may differ in the last digits */
const NEAR = 1e-6

/**
 * @param {any} sample without an error
 * @returns {string[]} paths of missing or malformed fields
 */
export function lacksOf (sample) {
  return [
    ...TEXTS.filter((name) => typeof sample[name] !== 'string'),
    ...NUMBERS.filter((name) => !Number.isFinite(sample[name])),
    ...recordsLacking(sample, sample.decided ? RECORDS_OF_BIDS : RECORDS),
    ...(sample.flushMs === undefined ? [] : recordsLacking(sample, FLUSHES)),
    ...LISTS.flatMap((name) => !Array.isArray(sample[name])
      ? [name]
      : name === 'marks'
        ? []
        : sample[name].flatMap((/** @type {unknown} */ one, /** @type {number} */ i) => isRecord(one) ? [] : [`${name}[${i}]`])),
    ...(sample.serving === undefined
      ? []
      : isRecord(sample.serving) ? recordsLacking(sample.serving, SERVING).map((name) => `serving.${name}`) : ['serving']),
    ...(isRecord(sample.serving) && sample.serving.latencyMs === undefined ? ['serving.latencyMs'] : []),
    ...(isRecord(sample.serving) ? probesLacking(sample.serving) : []),
    ...(isRecord(sample.serving?.requests) && !isRecord(sample.serving.requests.byStatus) ? ['serving.requests.byStatus'] : [])
  ]
}

/** @param {any} serving @returns {string[]} of freshness, everything and following */
const probesLacking = (serving) => Object.entries(PROBES).flatMap(([probe, { numbers, records = {}, lists = [] }]) => {
  const of = serving[probe]
  if (!of) return []
  const inside = [...recordsLacking(of, records), ...lists.filter((name) => !Array.isArray(of[name]))]
  return [...recordsLacking(serving, { [probe]: numbers }), ...inside.map((name) => `${probe}.${name}`)]
}).map((name) => `serving.${name}`)

/** @param {any} of @param {Record<string, string[]>} records numbers of each @returns {string[]} */
const recordsLacking = (of, records) => Object.entries(records).flatMap(([name, numbers]) =>
  isRecord(of[name]) ? numbers.filter((number) => !Number.isFinite(of[name][number])).map((number) => `${name}.${number}`) : [name])

/** @param {unknown} value */
const isRecord = (value) => value !== null && typeof value === 'object' && !Array.isArray(value)

/**
 * @param {Sample} sample that is marked valid and complete
 * @returns {string[]} sentences with the stored and the calculated value
 */
export function contradictionsOf (sample) {
  const { seconds, windowSeconds, ledger, itemsAcknowledged, nodes, serving, invariants } = sample
  return [
    ...(invariants.some(({ ok }) => !ok) ? ['is marked valid, but an invariant failed'] : []),
    ...(seconds > 0 ? [] : [`seconds ${seconds}`]),
    ...(ledger ? ledgerUnlike(ledger, itemsAcknowledged) : []),
    ...nodes.flatMap(({ role, address, cpuSeconds, cpuMicrosPerItem, cpuPercent }) => {
      const of = `${role} ${address}`
      return [
        // at rest nothing is decided
        ...(decidedOf(sample) > 0 ? unlike(`${of}: cpuMicrosPerItem`, cpuMicrosPerItem, cpuSeconds * 1e6 / decidedOf(sample)) : []),
        ...(windowSeconds === undefined ? [] : unlike(`${of}: cpuPercent`, cpuPercent, cpuSeconds / windowSeconds * 100))
      ]
    }),
    ...marksUnlike(sample),
    ...(serving ? servingUnlike(serving) : [])
  ]
}

/** @param {Sample['ledger']} ledger @param {number} itemsAcknowledged */
const ledgerUnlike = ({ acknowledged, verified, versions }, itemsAcknowledged) => [
  ...(itemsAcknowledged === acknowledged ? [] : [`itemsAcknowledged ${itemsAcknowledged}; the ledger has ${acknowledged}`]),
  ...(verified === undefined || verified === versions ? [] : [`${verified} versions verified; expected ${versions}`])
]

/** @param {Sample} sample */
function marksUnlike (sample) {
  // before 2026-11-29 stolen time was marked as noisy
  const isOfBefore = sample.marks.includes('noisy') && !sample.marks.includes('stolen')
  const due = marksOf(sample).map((mark) => mark === 'stolen' && isOfBefore ? 'noisy' : mark)
  const lacking = due.filter((mark) => !sample.marks.includes(mark))
  const extra = Object.keys(MARKS).filter((mark) => mark !== 'relay-bound' && sample.marks.includes(mark) && !due.includes(mark))
  return [
    ...lacking.map((mark) => `lacks the mark ${mark}, which its figures require`),
    ...extra.map((mark) => `has the mark ${mark}, which its figures do not justify`)
  ]
}

/** @param {import('../serving/figures.js').ServingFigures} serving */
function servingUnlike ({ asks, seconds, requests: { answered }, requestsPerSecond, cpuSeconds, cpuMicrosPerRequest }) {
  // a request is a stream then, so both are meaningless
  if (asks === 'push') {
    return [requestsPerSecond, cpuMicrosPerRequest].some((figure) => figure !== null)
      ? ['has figures of requests, which push does not have']
      : []
  }
  return [
    ...unlike('serving.requestsPerSecond', requestsPerSecond, answered / seconds),
    ...(answered > 0 ? unlike('serving.cpuMicrosPerRequest', cpuMicrosPerRequest, cpuSeconds * 1e6 / answered) : [])
  ]
}

/** @param {string} name @param {number | null} stored @param {number} due */
const unlike = (name, stored, due) =>
  stored !== null && Math.abs(stored - due) <= NEAR * Math.abs(due) ? [] : [`${name} ${stored}; expected ${due}`]
