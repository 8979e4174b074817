/**
 * Evidence for and against a result: how many measurements are valid, what became of every item, what the servers held, and
 * which counters can show a cause.
 */
import { sumByName } from '../analysis/counts.js'
import { isValid } from '../analysis/groups.js'
import { MARKS } from '../analysis/marks.js'
import { COUNTERS } from '../analysis/measures.js'
import { accountOf, otherOutcomesOf, requestsOf } from './account.js'
import { titleOf } from './figures.js'
import { code, list, table } from './markdown-table.js'
import { count, figure } from './numbers.js'
import { endedTexts } from './remarks.js'
import { shownArm } from './roles.js'

/** @typedef {import('../analysis/index.js').Analysis} Analysis */
/** @typedef {import('../analysis/index.js').Result} Result */
/** @typedef {import('../run/sample.js').Sample} Sample */
/** @typedef {import('../plan/index.js').Plan} Plan */
/** @typedef {{ arm: string, samples: Sample[] }[]} Arms */

/** L17 */
const LATENESS = 'Lateness counts from the intended time of each flush, which follows from the times of its items. A load that stalled ' +
  'is late for everything that it should have sent in that time.\n\n'

/** @param {Analysis} analysis @param {Result} result @param {Plan} plan @returns {string} Markdown */
export function believe (analysis, { samples }, plan) {
  /** @type {Arms} */
  const arms = [...new Set(samples.map(({ arm }) => arm))].map((arm) => ({ arm, samples: samples.filter((sample) => sample.arm === arm) }))
  return [
    validity(analysis, samples),
    items(arms, plan),
    requests(arms, plan),
    verified(arms, plan),
    LATENESS,
    invariants(samples),
    outcomes(arms),
    faults(analysis),
    marks(analysis),
    counters(analysis, plan)
  ].join('')
}

/** @param {Analysis} analysis @param {Sample[]} samples */
function validity ({ invalid, ended }, samples) {
  const valid = samples.filter(isValid).length
  if (valid === samples.length) return `All ${count(valid)} measurements are valid.\n\n`
  const others = [...(invalid.length ? [`${count(invalid.length)} INVALID because they contradict themselves`] : []),
    ...(ended.length ? [`${count(ended.length)} ended by an error of the arm, which is an outcome`] : [])]
  return `${count(valid)} of ${count(samples.length)} measurements are valid; the others are not in the figures: ${others.join('; ')}.\n\n`
}

/** L3, L4. @param {Arms} arms @param {Plan} plan */
function items (arms, plan) {
  const rows = arms.map(({ arm, samples }) => {
    const { planned, sent, acknowledged, missing, unsent, lost } = accountOf(samples)
    return [shownArm(arm, plan), planned === null ? 'as fast as possible' : count(planned),
      ...[sent, acknowledged, missing, unsent, lost].map(count)]
  })
  return table(['arm', '>planned', '>sent', '>acknowledged', '>missing', '>unsent', '>lost'], rows) +
    'Items of the windows. Sent includes items in flight when a window began. Missing: sent, with an error or without a reply. Unsent: ' +
    'dropped or refused before sending. Lost: acknowledged at any time since the load began, but not on every server at the end.\n\n'
}

/** @param {Arms} arms @param {Plan} plan */
function requests (arms, plan) {
  const rows = arms.flatMap(({ arm, samples }) => {
    const of = requestsOf(samples)
    if (!of) return []
    return [[shownArm(arm, plan), of.planned === null ? 'as fast as possible' : count(of.planned),
      ...[of.sent, of.answered, of.errors, of.timeouts].map(count)]]
  })
  return rows.length
    ? 'HTTP requests:\n\n' + table(['arm', '>planned', '>sent', '>responses', '>missing: errors', '>missing: timeouts'], rows)
    : ''
}

/** of samples with this part, the first that there is */
const COMPARED = Object.freeze({
  sales: 'After each sale, every reply is compared with the stored rows (lab/systems/sales/history.js): exactly the stock, one each, in ' +
    'order, no reply that contradicts a row.',
  prices: 'The replies of clients, those of the warm-up too, are compared with the exchanges, whose prices are computed again, with the ' +
    'events that are stored, and with what gateways and exchanges have counted (lab/systems/prices/history.js).',
  orders: 'After each measurement, the stored orders, events, ledger of payments and stock are compared with the replies to customers ' +
    '(lab/systems/orders/history.js).',
  disturbed: 'After each measurement, what was acknowledged is compared with what is stored, or was delivered, item by item ' +
    '(lab/cluster/run.js).',
  decided: 'After each measurement, what the clients heard of every bid, including those of the warm-up, is compared with the events ' +
    'that are stored (lab/systems/auctions/history.js).'
})

/** What was checked on the servers, with an example of each arm, and what this cannot show. @param {Arms} arms @param {Plan} plan */
function verified (arms, plan) {
  const has = (/** @type {string} */ part) => arms.some(({ samples }) => samples.some((sample) => /** @type {any} */ (sample)[part]))
  const [, compared] = Object.entries(COMPARED).find(([part]) => has(part)) ?? []
  if (compared) return `${compared}\n\n`
  const rows = arms.flatMap(({ arm, samples }) => {
    const sample = samples.find(isValid)
    return sample ? [`${code(shownArm(arm, plan))} at ${sample.level}, round ${sample.round}: ${verifiedText(sample)}`] : []
  })
  return rows.length === 0
    ? ''
    : 'After each measurement, the contents of every node are compared with what was acknowledged, including warm-up. For example:\n\n' +
      list(rows) +
    'This cannot detect a lost version whose item was written again later, where only the newest version of an item is kept.\n\n'
}

/** @param {Sample} sample @returns {string} such as "newest versions of 350,000 acknowledged: 100,000 verified on each of 3 nodes" */
function verifiedText ({ ledger, nodes }) {
  const { acknowledged, versions } = ledger
  return `${versions === acknowledged ? 'every version' : 'newest versions'} of ${count(acknowledged)} acknowledged: ` +
    `${count(ledger.verified ?? versions)} verified on ${nodes.length === 1 ? 'the one node' : `each of ${nodes.length} nodes`}`
}

/** @param {Sample[]} samples */
function invariants (samples) {
  const rows = [...new Set(samples.flatMap(({ invariants }) => invariants.map(({ name }) => name)))].map((name) => {
    const those = samples.flatMap(({ invariants }) => invariants.filter((invariant) => invariant.name === name))
    const held = those.filter(({ ok }) => ok).length
    return [name, `${held} of ${those.length}`, held === those.length ? 'yes' : '**no**']
  })
  return table(['invariant', '>held', 'always'], rows)
}

/** @param {Arms} arms */
function outcomes (arms) {
  const others = arms.flatMap(({ arm, samples }) => otherOutcomesOf(accountOf(samples)).map((outcome) => `${code(arm)}: ${outcome}`))
  return others.length
    ? 'Items and measurements that did not succeed:\n\n' + list(others)
    : 'No item was refused, dropped, retried or left without a reply.\n\n'
}

/** Ended by an error: an outcome (L14). INVALID: a contradiction (L5). @param {Analysis} analysis */
function faults ({ cells, invalid, ended }) {
  const ends = cells.flatMap((cell) => endedTexts(cell, ended).map((text) => `${code(cell.arm)} at ${cell.level}: ${text}`))
  return (ends.length ? 'Measurements that ended with an error:\n\n' + list(ends) : '') +
    (invalid.length
      ? 'INVALID measurements:\n\n' +
        list(invalid.map(({ arm, level, round, why }) => `${code(arm)} at ${level}, round ${round}: ${why.join('; ')}`))
      : '')
}

/** @param {Analysis} analysis */
function marks ({ cells }) {
  const counts = Object.entries(sumByName(cells.map(({ marks }) => marks)))
  return counts.length
    ? 'Marks:\n\n' +
      list(counts.map(([mark, n]) => `${mark}: ${n} ${n === 1 ? 'measurement' : 'measurements'}${MARKS[mark] ? ` (${MARKS[mark]})` : ''}`))
    : ''
}

/** L18. @param {Analysis} analysis @param {Plan} plan */
function counters ({ cells }, plan) {
  const there = COUNTERS.filter((name) => cells.some(({ counters }) => counters[name] !== null))
  if (there.length === 0) return ''
  return 'Counters of the primary, medians of the valid rounds. CPU time shows how much an arm costs, not why; a cause is claimed only ' +
    'with a counter that shows it.\n\n' +
    table(['level', 'arm', ...there.map((name) => `>${titleOf(name)}`)],
      cells.map(({ level, arm, counters }) => [level, shownArm(arm, plan), ...there.map((name) => figure(counters[name]))]))
}
