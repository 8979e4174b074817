/** Sales of the lab: the checker catches every mutant, and no technique that is right. */
import { join } from 'node:path'
import t from 'tap'
import { checkSale } from '../../lab/systems/sales/history.js'
import { endOfMain } from '../bin/in-process.js'
import { MUTANTS, openMutant } from './mutants/sales.js'

/** @typedef {import('../../lab/systems/sales/people.js').Person} Person */

/** 40 people, some of whom click twice. @param {string} technique */
async function sell (technique) {
  const arm = openMutant(technique)
  await arm.create('s', 10)
  /** @param {number} n @returns {Promise<Person[]>} */
  async function buy (n) {
    const user = `u${n}`
    const sentMs = performance.now()
    const replies = await Promise.all(Array.from({ length: n % 5 === 0 ? 2 : 1 }, () => arm.claim('s', user, null, 'k')))
    const { status, body } = replies.find((reply) => reply.status < 300) ?? replies[0]
    const code = status < 300 ? body.status : body.code.replace('SALE_', '').toLowerCase()
    return [{ user, sentMs, answeredMs: performance.now(), code, seq: body.seq ?? null, requests: 1 }]
  }
  const people = []
  // a few after others, then all at once
  for (let n = 0; n < 4; n++) people.push(...await buy(n))
  people.push(...(await Promise.all(Array.from({ length: 36 }, (_, i) => buy(4 + i)))).flat())
  return checkSale({ sale: 's', stock: 10, people, stored: await arm.stored('s') })
}

/** @type {Record<string, string>} what finds each */
const FINDS = {
  'read-then-write': 'exact',
  'completed-always': 'truthful',
  'non-atomic-issue': 'once',
  'no-compensation': 'exact',
  'position-by-clock': 'ordered'
}

t.test('every mutant is caught', async (t) => {
  t.same(Object.keys(FINDS).sort(), [...MUTANTS].sort())
  for (const mutant of MUTANTS) {
    const broken = (await sell(mutant)).filter(({ ok }) => !ok).map(({ name }) => name)
    t.ok(broken.includes(FINDS[mutant]), `${mutant}: ${broken.join(', ') || 'nothing'}`)
  }
})

t.test('a sale that is right passes', async (t) => {
  t.same((await sell('right')).filter(({ ok }) => !ok), [])
})

t.test('what a published technique is excused from is counted, not forgiven to others', async (t) => {
  const person = (/** @type {string} */ user, /** @type {string} */ code) =>
    ({ user, code, sentMs: 1, answeredMs: 2, seq: null, requests: 1 })
  const people = [person('a', 'sold_out'), person('b', 'sold_out')]
  const sale = { sale: 's', stock: 1, people, stored: { sold: 1, rows: [{ user: 'a', seq: 1 }] } }
  t.same(checkSale(sale).filter(({ ok }) => !ok).map(({ name }) => name), ['counted', 'truthful'])
  t.same(checkSale(sale, true).filter(({ ok }) => !ok), [])
})

t.test('the history of a sale is checked again by experiment check', async (t) => {
  const person = { user: 'a', code: 'sold', sentMs: 1, answeredMs: 2, seq: 1, requests: 1 }
  const sale = { kind: 'sale', sale: 's', stock: 1, people: [person], stored: { sold: 1, rows: [{ user: 'a', seq: 1 }] } }
  const untrue = { ...sale, people: [person, { ...person, user: 'b', seq: null }] }
  const folder = t.testdir({ 'right.ndjson': JSON.stringify(sale), 'wrong.ndjson': JSON.stringify(untrue) })
  const checked = (/** @type {string} */ file) => endOfMain(['experiment', 'check', join(folder, file)])
  t.match(await checked('right.ndjson'), { code: 0, stdout: /1 people, 1 sold\n {2}exact: yes/ })
  t.match(await checked('wrong.ndjson'), { code: 1, stdout: /counted: no \(2 got a unit, 1 rows\)/ })
})
