/** Figures of the sales of one measurement. */
import { percentilesOf } from '../../analysis/percentiles.js'

/** @typedef {Awaited<ReturnType<typeof import('./burst.js').runBurst>>} Burst */

const LOSERS = ['sold_out', 'all_held', 'insufficient']
const NEVER_TOLD = 'timed_out'

/** @param {Burst[]} bursts */
export function figuresOf (bursts) {
  const people = bursts.flatMap((burst) => burst.people)
  const took = (/** @type {import('./people.js').Person} */ { sentMs, answeredMs }) => answeredMs - sentMs
  const sellouts = bursts.flatMap(({ selloutMs }) => selloutMs === null ? [] : [selloutMs])
  const requests = people.reduce((sum, person) => sum + person.requests, 0)
  return {
    count: bursts.length,
    seconds: bursts.reduce((sum, { ms }) => sum + ms, 0) / 1000,
    people: people.length,
    requests,
    selloutMs: sellouts.length > 0 ? percentilesOf(sellouts).p50 : null,
    everybodyMs: percentilesOf(bursts.map(({ ms }) => ms)).p50,
    unanswered: people.filter(({ code }) => code === NEVER_TOLD).length,
    latencyMs: percentilesOf(people.map(took)),
    winnersMs: percentilesOf(people.filter(({ code }) => code === 'sold').map(took)),
    losersMs: percentilesOf(people.filter(({ code }) => LOSERS.includes(code)).map(took)),
    busy: Math.max(0, ...bursts.map(({ figures }) => figures?.busy ?? 0)),
    waiting: Math.max(0, ...bursts.map(({ figures }) => figures?.waiting ?? 0))
  }
}
