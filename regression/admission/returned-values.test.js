/** The long form of test/admission/returned-values.test.js, by night. */
import fc from 'fast-check'
import { differs } from '../../test/admission/returned-calls.js'
import { steps } from '../../test/admission/returned-values.js'
import { holds } from '../../test/properties.js'
import { nightEngines, nightTest } from '../../test/scope.js'
import { connectFor, engineName, startServer } from '../../test/servers.js'

for (const engine of await nightEngines()) {
  nightTest(`${engineName(engine)}: values of every type in every part are stored or refused, as the model says`, async (t) => {
    const connection = await connectFor(t, (await startServer(t, { engine })).url)
    await holds(t, fc.asyncProperty(steps, async (given) => {
      const found = await differs(connection, given)
      if (found) throw new Error(found)
    }), { runs: 10_000, timeLimitMs: 300_000 })
  })
}
