import t from 'tap'
import { runCrew } from '../../src/runtime/crew.js'

const file = new URL('./crew-member.js', import.meta.url)

/** @param {string[]} ends @param {Partial<Parameters<typeof runCrew>[0]>} [parts] */
async function run (ends, parts) {
  /** @type {string[]} */
  const told = []
  const ended = await runCrew({
    file,
    size: ends.length,
    order: { ends },
    stdout: 'ignore',
    signal: new AbortController().signal,
    onMeasuring: () => told.push('all measure'),
    onMessage: (index, { event }) => told.push(`${index} ${event}`),
    ...parts
  })
  return { ended, told }
}

t.test('members start together, and the crew reports when all measure', async (t) => {
  const { ended, told } = await run(['done', 'done'])
  t.same(ended, [0, 1].map((index) => ({ last: { event: 'done', index, why: 'done' }, fault: null })))
  t.ok(told.findLastIndex((one) => one.endsWith('opened')) < told.findIndex((one) => one.endsWith('measuring')), told.join(', '))
  t.equal(told.filter((one) => one === 'all measure').length, 1)
})

t.test('a member that dies does not stop the others, and its end is reported', async (t) => {
  /** @type {number[]} */
  const gone = []
  const { ended, told } = await run(['done', 'dies'], { onEnded: (index, { fault }) => { if (fault) gone.push(index) } })
  t.same(ended.map(({ fault }) => fault), [null, 'SIGKILL'])
  t.same(gone, [1])
  t.ok(told.includes('all measure'))
})

t.test('without a measuring member nothing is reported', async (t) => {
  const { ended, told } = await run(['dies'])
  t.same(ended.map(({ last }) => last), [null])
  t.notOk(told.includes('all measure'))
})

t.test('all members get the stop request with its reason, also before they started', async (t) => {
  const stop = new AbortController()
  const { ended } = await run(['stays', 'stays'], { signal: stop.signal, onMeasuring: () => stop.abort('enough') })
  t.same(ended.map(({ last }) => last.why), ['enough', 'enough'])
  const early = await run(['stays'], { signal: AbortSignal.abort('never mind') })
  t.same(early.ended.map(({ last }) => last.why), ['never mind'])
})
