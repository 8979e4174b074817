/** A primary, two replicas and three Sentinels for tests: configured by the code of the embedded servers, gone with their test. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sentinelsUrl, startSentinels } from '../src/embedded/fleet.js'
import { connectFor, eventually, startDeployment } from './servers.js'

/** it may open a connection each time */
const LOOK_EVERY_MS = 100

/** @typedef {Awaited<ReturnType<typeof startWatched>>} Watched */

/** @param {import('tap').Test} t @param {Parameters<typeof startDeployment>[1]} options */
export async function startWatched (t, options) {
  const { primary, replicas } = await startDeployment(t, options)
  const folder = await mkdtemp(join(tmpdir(), 'freshet-sentinels-'))
  /** @type {import('../src/embedded/server-process.js').Server[]} */
  const spawned = []
  t.teardown(async () => {
    await Promise.all(spawned.map((one) => one.kill()))
    await rm(folder, { recursive: true, force: true })
  })
  const plan = { program: options.engine.program, folder, onSpawn: (/** @type {any} */ one) => { spawned.push(one) } }
  const sentinels = await startSentinels(plan, /** @type {any} */ (primary), replicas.length)
  return {
    primary,
    replicas,
    sentinels,
    url: sentinelsUrl(sentinels),

    /** Resolves with the port of another primary, when the Sentinels name it and it is one. @param {{ port: number }} before */
    async untilOther (before) {
      const sentinel = await connectFor(t, sentinels[0].url)
      return eventually(async () => {
        const [, port] = await sentinel.send('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'freshet')
        if (Number(port) === before.port) return false
        const [role] = await (await connectFor(t, `redis://127.0.0.1:${port}`)).send('ROLE')
        return String(role) === 'master' && Number(port)
      }, { everyMs: LOOK_EVERY_MS })
    }
  }
}
