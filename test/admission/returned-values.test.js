/** A property: whatever a rule of a user returns, what is stored agrees with a model, and commands of others in the call are decided. */
import fc from 'fast-check'
import t from 'tap'
import { holds } from '../properties.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { differs, MENDS } from './returned-calls.js'
import { steps } from './returned-values.js'

/** Each fault is found within some hundred. */
const MOST_RUNS = 20_000

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const connection = await connectFor(t, (await startServer(t, { engine })).url)

    await t.test('values of every type in every part are stored or refused, as the model says', async (t) => {
      await holds(t, fc.asyncProperty(steps, async (given) => {
        const found = await differs(connection, given)
        if (found) throw new Error(found)
      }), { runs: 90 })
    })

    for (const [mend, change] of Object.entries(MENDS)) {
      await t.test(`without its mend the fault is found: ${mend}`, async (t) => {
        const result = await fc.check(fc.asyncProperty(steps, async (given) => !await differs(connection, given, [change])),
          { numRuns: MOST_RUNS, endOnFailure: true })
        t.comment(`seed ${result.seed}, ${result.numRuns} runs`)
        t.ok(result.failed)
      })
    }
  })
}
