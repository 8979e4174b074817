/**
 * Writers, a primary and one replica, which are killed one at a time while they are written to. Replication goes over
 * a slow line that is cut with the primary, so that there is always something that only the primary has.
 *
 *     writers -> proxy (its address stays) -> primary ..delay.. replica
 */
import { setTimeout as pause } from 'node:timers/promises'
import { startProxy } from '../../proxy.js'
import { connectFor, inSync, startServer } from '../../servers.js'
import { startRun } from './run.js'

const MOST_PAUSE_MS = 200
const DELAY_MS = 20

/** @typedef {'primary' | 'replica'} Role */

/**
 * @param {import('tap').Test} t
 * @param {{ engine: import('../../servers.js').Engine, run: Omit<import('./writing.js').Run, 'redisUrl'> }} options
 */
export async function startFailover (t, { engine, run: asked }) {
  let primary = await startServer(t, { engine })
  const proxy = await startProxy(t, primary.port)
  let { replica, line } = await follow(primary)
  const run = startRun(t, { redisUrl: proxy.url, ...asked })
  await run.open()

  /** An empty replica of that server. @param {import('../../servers.js').Server} server */
  async function follow (server) {
    const line = await startProxy(t, server.port, { delayMs: DELAY_MS })
    const replica = await startServer(t, { engine, replicaOf: line })
    await inSync(replica)
    return { replica, line }
  }

  return {
    run,
    proxy,
    get primary () { return primary },
    get line () { return line },
    /** Kills the primary, makes the replica the primary, and only then lets writers find it. */
    async failOver () {
      line.stop()
      await primary.kill()
      const connection = await connectFor(t, replica.url)
      await connection.send('REPLICAOF', 'NO', 'ONE')
      connection.close()
      primary = replica
      proxy.switchTo(primary.port)
    },
    /** Under load, one is killed, and comes back empty as the replica of the other. @param {Role} victim */
    async kill (victim) {
      await run.acknowledged(300)
      await pause(Math.random() * MOST_PAUSE_MS)
      if (victim === 'primary') await this.failOver()
      else await replica.kill()
      // only now: the other would follow it and drop everything
      line.stop()
      ;({ replica, line } = await follow(primary))
    }
  }
}
