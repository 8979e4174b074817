import t from 'tap'
import { gateTo } from '../../src/store/refusal-gate.js'

const ON = new AbortController().signal
const REFUSAL = new Error('not you')

/** A gate at which somebody was refused. */
async function shutGate () {
  const gate = gateTo(`redis://127.0.0.1:1/${++gates}`)
  const attempt = await gate.enter(ON, 'links')
  attempt.ended(REFUSAL)
  return gate
}
let gates = 0

t.test('while one is refused the others wait for their turns, and links and views are called by turns', async (t) => {
  const gate = await shutGate()
  t.equal(gate.refusal, REFUSAL)
  /** @type {string[]} */
  const called = []
  const times = [performance.now()]
  await Promise.all(/** @type {const} */ (['views', 'views', 'views', 'links']).map(async (line, i) => {
    const attempt = await gate.enter(ON, line)
    called.push(`${line} ${i}`)
    times.push(performance.now())
    attempt.ended(REFUSAL)
  }))
  t.same(called, ['links 3', 'views 0', 'views 1', 'views 2'])
  t.ok(times.slice(1).every((at, i) => at - times[i] >= 990), 'a second apart, at least')
  t.equal(gate.refusal, REFUSAL, 'and whoever comes now waits, too')
})

t.test('one that leaves gives up its place, and one that is let in opens the gate for all', async (t) => {
  const gate = await shutGate()
  const leaving = new AbortController()
  const gone = gate.enter(leaving.signal, 'views')
  const [first, second] = [gate.enter(ON, 'views'), gate.enter(ON, 'links')]
  leaving.abort()
  ;(await gone).ended()
  const attempt = await Promise.race([first, second])
  attempt.opened()
  attempt.opened()
  await Promise.all([first, second])
  t.equal(gate.refusal, null)
  attempt.ended()
  t.equal(gate.refusal, null, 'what ends later without a refusal changes nothing')
})
