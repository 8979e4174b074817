/**
 * Servers that the files of a run share: one deployment for each engine, started by the runner (run.js). A file that runs alone starts
 * its own.
 *
 * @typedef {import('./servers.js').Engine} Engine
 * @typedef {import('./servers.js').Server} Server
 */
import root from 'tap'
import { newest } from '../src/embedded/engine.js'
import { scopedEngines } from './scope.js'
import { engineName, startDeployment, testEngines } from './servers.js'

/** @typedef {{ engine: Engine, primary: { url: string, port: number }, replicas: { url: string, port: number }[] }} Shared */

const SHARED = 'FRESHET_TEST_SHARED'
let prefixes = 0
/** @type {Map<string, Promise<Shared>>} by engine, of a file that runs alone */
const own = new Map()

/**
 * Deployments that the files of a run share, one per engine that they run on.
 * @param {import('tap').Test} t they end with it
 * @returns {Promise<Record<string, string>>} environment of these files
 */
export async function shareDeployments (t) {
  const engines = await scopedEngines()
  const started = await Promise.all(engines.map(async (engine) => [engineName(engine), await startShared(t, engine)]))
  return { [SHARED]: JSON.stringify(Object.fromEntries(started)) }
}

/** @param {import('tap').Test} t @param {Engine} engine @returns {Promise<Shared>} */
async function startShared (t, engine) {
  const { primary, replicas } = await startDeployment(t, { engine })
  const addressOf = (/** @type {Server} */ { url, port }) => ({ url, port })
  return { engine, primary: addressOf(primary), replicas: replicas.map(addressOf) }
}

/**
 * One primary and two replicas that other files use at the same time, and a key prefix that nothing else uses. A test that kills,
 * freezes, configures or fills a server, or asks about all that it did, starts its own (`startDeployment`).
 * @param {import('tap').Test} t
 * @param {{ engine?: Engine }} [options] the newest if not given
 * @returns {Promise<Shared & { keyPrefix: string }>}
 */
export async function sharedDeployment (t, { engine } = {}) {
  const wanted = engine ?? /** @type {Engine} */ (newest(await testEngines()))
  const name = engineName(wanted)
  const given = JSON.parse(process.env[SHARED] ?? '{}')[name]
  if (!given && !own.has(name)) own.set(name, startShared(root, wanted))
  const deployment = given ?? await own.get(name)
  return { ...deployment, keyPrefix: `t${process.pid}-${++prefixes}:` }
}
