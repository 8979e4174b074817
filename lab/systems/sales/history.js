/**
 * Checks the answers that people of a sale got against what is stored.
 *
 *     exact       sold = the stock, or all who came: never over, never under
 *     counted     as many got a unit as have one
 *     once        no one has two
 *     truthful    got a unit <=> there is a row; sold out => there is none; no one is left without an outcome
 *     ordered     who was answered before another one sent has the lower number
 *
 * @typedef {import('./people.js').Person} Person
 * @typedef {{ sale: string, stock: number, people: Person[], stored: { sold: number, rows: { user: string, seq: number | null }[] } }} Sale
 * @typedef {import('../invariants.js').Invariant} Invariant
 */
import { holds } from '../invariants.js'

const HAS_UNIT = Object.freeze(['sold', 'already_claimed'])
const FINAL = Object.freeze([...HAS_UNIT, 'sold_out', 'gave_up'])

/** what a technique is built as published is excused from; untrue answers are counted instead */
const EXCUSED = Object.freeze(['counted', 'truthful'])

/** People who got an answer that is not so. @param {Sale} sale @returns {Person[]} */
export function untruthsIn ({ people, stored: { rows } }) {
  const owners = new Set(rows.map(({ user }) => user))
  return people.filter(({ user, code }) => !FINAL.includes(code) || HAS_UNIT.includes(code) !== owners.has(user))
}

/** @param {Sale} sale @param {boolean} [isAsPublished] @returns {Invariant[]} */
export function checkSale (sale, isAsPublished = false) {
  const all = checked(sale)
  return isAsPublished ? all.filter(({ name }) => !EXCUSED.includes(name)) : all
}

/** @param {Sale} sale @returns {Invariant[]} */
function checked (sale) {
  const { stock, people, stored: { sold, rows } } = sale
  const owners = new Set(rows.map(({ user }) => user))
  const expected = Math.min(stock, people.filter(({ code }) => code !== 'gave_up').length)
  const winners = people.filter(({ code }) => HAS_UNIT.includes(code))
  const [untrue] = untruthsIn(sale)
  const late = outOfOrder(people.filter(({ seq }) => seq !== null))
  return [
    holds('exact', sold === expected && rows.length === expected, `${sold} sold, ${rows.length} rows of ${expected}`),
    holds('counted', winners.length === rows.length, `${winners.length} got a unit, ${rows.length} rows`),
    holds('once', owners.size === rows.length, `${rows.length - owners.size} rows too many`),
    holds('truthful', !untrue, untrue ? `${untrue.user} got ${untrue.code}, row: ${owners.has(untrue.user)}` : ''),
    holds('ordered', !late, late ? `${late.user} has number ${late.seq}` : '')
  ]
}

/**
 * One whose number is higher than that of a person who began after the answer.
 * @param {Person[]} people with numbers @returns {Person | null}
 */
function outOfOrder (people) {
  const bySent = people.toSorted((a, b) => a.sentMs - b.sentMs)
  const byAnswer = people.toSorted((a, b) => a.answeredMs - b.answeredMs)
  let highest = /** @type {Person | null} */ (null)
  let i = 0
  for (const one of bySent) {
    for (; i < byAnswer.length && byAnswer[i].answeredMs < one.sentMs; i++) {
      if (highest === null || Number(byAnswer[i].seq) > Number(highest.seq)) highest = byAnswer[i]
    }
    if (highest !== null && Number(one.seq) < Number(highest.seq)) return highest
  }
  return null
}
