/** Measures of sales. */
import { HIGHER, rowsOf } from '../../analysis/measure.js'

const row = rowsOf(({ sales }) => sales)

/** A percentile beyond which people gave up; 100: any of them. @param {number} percentile */
const cutAt = (percentile) => ({
  isCut: (/** @type {{ unanswered: number, people: number }} */ { unanswered, people }) =>
    unanswered > 0 && unanswered / people >= 1 - percentile / 100
})

/** @type {Record<string, import('../../analysis/measure.js').Measure>} */
export const FIRST_COME_MEASURES = Object.freeze({
  repliesPerSecond: row('People who learn the outcome, per second', 'people/s', 'tells',
    ({ people, seconds }) => people / seconds, { noun: 'replies', ...HIGHER }),
  selloutMs: row('Time until the last unit is sold', 'ms', 'sells out after', ({ selloutMs }) => selloutMs),
  outcomeMsP99: row('Time until a person knows, 99th percentile', 'ms', 'tells after', ({ latencyMs }) => latencyMs.p99,
    cutAt(99)),
  outcomeMsP95: row('Time until a person knows, 95th percentile', 'ms', 'tells after', ({ latencyMs }) => latencyMs.p95,
    cutAt(95)),
  outcomeMsMean: row('Time until a person knows, mean', 'ms', 'tells after', ({ latencyMs }) => latencyMs.mean,
    cutAt(100)),
  winnerMsP99: row('Time until a winner knows, 99th percentile', 'ms', 'tells after', ({ winnersMs }) => winnersMs.p99),
  loserMsP99: row('Time until a loser knows, 99th percentile', 'ms', 'tells after', ({ losersMs }) => losersMs.p99),
  requestsPerPerson: row('Requests per person', 'requests', 'needs', ({ requests, people }) => requests / people),
  everybodyMs: row('Time until all know, or gave up', 'ms', 'ends after', ({ everybodyMs }) => everybodyMs,
    cutAt(100)),
  unansweredPerThousand: row('People who never learn the outcome, per thousand', 'people', 'leaves without an answer',
    ({ unanswered, people }) => 1000 * unanswered / people),
  answeredPerThousand: row('People who learn the outcome, per thousand', 'people', 'tells',
    ({ unanswered, people }) => 1000 * (people - unanswered) / people, HIGHER),
  untruePerThousand: row('People who get an untrue reply, per thousand', 'people', 'misleads',
    ({ untrue, people }) => 1000 * untrue / people),
  neighbourMsP99: row('Response time of a neighbouring route during the burst, 99th percentile', 'ms', 'answers neighbours after',
    ({ neighbours }) => neighbours?.ms.p99),
  neighbourTimesIdle: row('The same, compared with no burst', 'x', 'slows neighbours by',
    ({ neighbours }) => neighbours?.idleMs.p99 ? neighbours.ms.p99 / neighbours.idleMs.p99 : null),
  waitingForConnection: row('Requests that waited for a connection to the database, at most', 'requests', 'lets wait',
    ({ waiting }) => waiting)
})
