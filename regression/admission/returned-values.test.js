/** The long form of test/admission/returned-values.test.js. */
import fc from 'fast-check'
import t from 'tap'
import { differs } from '../../test/admission/returned-calls.js'
import { steps } from '../../test/admission/returned-values.js'
import { holds } from '../../test/properties.js'
import { nightly, scopedEngines } from '../../test/scope.js'
import { connectFor, engineName, startServer } from '../../test/servers.js'

for (const engine of await scopedEngines()) {
  t.test(`${engineName(engine)}: values of every type in every part are stored or refused, as the model says`, async (t) => {
    const connection = await connectFor(t, (await startServer(t, { engine })).url)
    await holds(t, fc.asyncProperty(steps, async (given) => {
      const found = await differs(connection, given)
      if (found) throw new Error(found)
    }), { runs: nightly(10_000, 600), timeLimitMs: nightly(300_000, 60_000) })
  })
}
