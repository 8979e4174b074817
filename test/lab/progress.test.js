/** The line of a run that goes on. */
import t from 'tap'
import { createProgress } from '../../lab/command/progress.js'

const cell = { level: '50 k items/s', arm: 'ids', round: 2, warmUpSeconds: 1 }

/** @param {{ isTTY?: boolean, columns?: number }} [terminal] */
function start (terminal = {}) {
  let text = ''
  let ms = 0
  const progress = createProgress({
    title: '007-reference-or-value',
    seconds: 8,
    stream: /** @type {any} */ ({ write (/** @type {string} */ words) { text += words }, ...terminal }),
    now: () => ms
  })
  return { progress, wait (/** @type {number} */ seconds) { ms += seconds * 1000 }, said () { const all = text; text = ''; return all } }
}

const sample = (/** @type {object} */ of = {}) => /** @type {any} */ ({ error: null, valid: true, invariants: [], marks: [], ...of })

t.test('arm, level, round, and time left: first by the plan, then by what was timed', async (t) => {
  const { progress, wait, said } = start()
  progress.update({ cell, done: 0, of: 10 })
  t.equal(said(), '007-reference-or-value  1 of 10: 50 k items/s, ids, round 2; 2 min left\n')
  wait(20)
  progress.update({ cell, done: 1, of: 10, sample: sample() })
  t.equal(said(), '', 'a measurement without a fault says nothing')
  progress.update({ cell: { ...cell, arm: 'values' }, done: 1, of: 10 })
  t.equal(said(), '007-reference-or-value  2 of 10: 50 k items/s, values, round 2; 3 min left\n')
  progress.update({ cell, done: 7, of: 10 })
  t.match(said(), /; 60 s left\n$/)
})

t.test('what a person should know is reported at once', async (t) => {
  const { progress, said } = start()
  const told = (/** @type {object} */ of) => {
    progress.update({ cell, done: 1, of: 10, sample: sample(of) })
    return said()
  }
  t.equal(told({ valid: false, error: { code: 'SERVER_LOST', message: 'a server ended' } }),
    '007-reference-or-value  50 k items/s, ids, round 2: ended by SERVER_LOST: a server ended\n')
  t.equal(told({
    valid: false, invariants: [{ name: 'sums', ok: true, detail: '' }, { name: 'items are present', ok: false, detail: '12 missing' }]
  }),
  '007-reference-or-value  50 k items/s, ids, round 2: INVALID: items are present: no (12 missing)\n')
  t.match(told({ marks: ['noisy'] }), /marked noisy: other programs used the processors\n$/)
})

t.test('on a terminal the line is written over, and what must stay stays', async (t) => {
  const { progress, said } = start({ isTTY: true, columns: 40 })
  progress.update({ cell, done: 0, of: 10 })
  const line = said()
  t.match(line, /^\r\x1b\[2K007-reference-or-value {2}1 of 10/) // eslint-disable-line no-control-regex
  t.equal(line.length, '\r\x1b[2K'.length + 39, 'it never wraps')
  progress.update({ cell, done: 1, of: 10, sample: sample({ valid: false, error: { code: 'LOAD_FAILED', message: 'no' } }) })
  t.match(said(), /\n$/)
  progress.update({ cell, done: 1, of: 10 })
  said()
  progress.close()
  t.equal(said(), '\r\x1b[2K', 'nothing of it is left')
  progress.close()
  t.equal(said(), '')
})
