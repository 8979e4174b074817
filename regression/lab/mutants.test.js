/**
 * Loads that are broken on purpose (L15), as processes: what they say of themselves does not hide what they did. The same faults in the
 * process of the test: test/lab/mutants.test.js. In whole runs of the lab: runner-faults.test.js.
 */
import t from 'tap'
import { fileURLToPath } from 'node:url'
import { runLoad } from '../../test/lab/load.js'
import { MUTANTS } from '../../test/lab/mutants/loads.js'
import { measured } from '../../test/lab/mutants/measured.js'
import { nightly, scopedEngines } from '../../test/scope.js'
import { startServer } from '../../test/servers.js'

const PROCESS = fileURLToPath(new URL('../../test/lab/mutants/process.js', import.meta.url))
const SOUND = ['healthy', 'healthy log', 'starved']
const names = nightly(Object.keys(MUTANTS), ['healthy', 'drops'])
const [engine] = await scopedEngines()

t.test('of loads as processes those that lie are found out, and no others', async (t) => {
  const server = await startServer(t, { engine })
  for (const name of names) {
    const { broken } = await measured(t, server, name, {}, (order) => runLoad(t, { file: PROCESS, ...order }))
    t.equal(broken.length === 0, SOUND.includes(name), `${name}: ${broken}`)
  }
})
