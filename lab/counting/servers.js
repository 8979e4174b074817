/**
 * The servers of one count: a primary under cachegrind, and one replica if it is counted, too. They are started without polling them,
 * because each look at a server costs it instructions: a log line says when one is ready.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import timers from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { createGuard, freePort, startServer } from '../../src/embedded/index.js'
import { queryNode } from '../servers/query.js'
import { takeFigures } from '../servers/figures.js'
import { fixGenerator } from './generator.js'
import { hasSeed, instructionsOf, wrapProgram } from './valgrind.js'

/** as they are before a count slows time down */
const { setTimeout: pause } = timers
const { now } = Date
const POLL_MS = 20
/** under valgrind, on a machine that is busy with other things */
const START_DEADLINE_MS = 600_000
const WAIT_MS = 600_000
const LAST_SLOT = 16_383

/**
 * @typedef {{ program: string, engine: string, form: 'primary' | 'fed' | 'pair' | 'read' | 'cluster', folder: string,
 *   fill?: (primaryUrl: string) => Promise<void>, waitMs?: number }} Options `engine` such as `valkey 9.1.2`; `fed`: a primary that keeps
 *   what it would replicate; `pair`: with a replica, which is counted, too; `read`: a replica of a primary that is not counted, and that
 *   `fill` fills before; `cluster`: one primary that has all slots; `folder`: parent of the temporary folder; `waitMs` for a reply, and
 *   for a replica
 * @typedef {Awaited<ReturnType<typeof openCountedServers>>} CountedServers
 * @typedef {Awaited<ReturnType<typeof startServer>>} Server
 * @typedef {{ role: 'primary' | 'replica', instructions: number, commands: number, offset: number, netInputBytes: number,
 *   netOutputBytes: number, connections: number, calls: Record<string, number> }} NodeCount since the node began; `connections` accepted
 */

/** @param {Options} options @throws {FreshetError} COUNT_FAILED: the engine does not run under valgrind; SERVERS_FAILED */
export async function openCountedServers ({ program, engine, form, folder, fill = async () => {}, waitMs = WAIT_MS }) {
  await mkdir(folder, { recursive: true })
  const own = await mkdtemp(join(folder, 'count-'))
  const guard = createGuard()
  /** those that run, and those whose port was taken @type {Server[]} */
  const spawned = []
  /** @type {Server[]} */
  const nodes = []

  async function close () {
    await Promise.all(spawned.map((node) => node.kill()))
    guard.release()
    await rm(own, { recursive: true, force: true, maxRetries: 5 })
  }

  /** @param {string[]} args @param {Server} [primary] */
  async function start (args, primary) {
    const node = await startServer({
      program: form === (primary ? 'fed' : 'read') ? program : wrapped,
      folder: own,
      replicaOf: primary,
      args,
      onSpawn (server) {
        spawned.push(server)
        guard.watch(spawned.map(({ pid }) => pid))
      },
      untilReady: (server) => untilLogged(server, primary ? /Finished with success/ : /Ready to accept connections/)
    })
    nodes.push(node)
    return node
  }

  const wrapped = await wrapProgram({ program, engine, folder: own })
  try {
    const primary = await start(form === 'cluster' ? ['--cluster-enabled', 'yes', '--cluster-port', String(await freePort())] : [])
    if (form === 'read') await fill(primary.url)
    if (['fed', 'pair', 'read'].includes(form)) {
      const replica = await start([], primary)
      // until the primary knows that its child has ended, it puts off the growth of its tables
      await untilLogged(primary, /Background RDB transfer terminated/)
      // what it replicates from now on, it keeps for a replica that comes back
      if (form === 'fed') await replica.kill()
    }
    const counted = form === 'fed' ? [primary] : form === 'read' ? nodes.slice(1) : nodes
    for (const { url, pid } of counted) {
      // a replica that was filled has drawn numbers; reads draw none
      if (hasSeed(engine) && form !== 'read') await fixGenerator({ pid, program })
      await queryNode(url, (node) => node.send('DEBUG', 'SET-ACTIVE-EXPIRE', '0'), { deadlineMs: waitMs })
    }
    if (form === 'cluster') await queryNode(primary.url, takeAllSlots, { deadlineMs: waitMs })
    const urls = counted.map(({ url }) => url)
    /** Fails when a server ends, as it also does at the end: clients would try for an hour to reach it again. @type {Promise<never>} */
    const lost = Promise.race(counted.map(async ({ url, exited }) => {
      throw new FreshetError('SERVER_LOST', `the server at ${new URL(url).host} ended ${await exited} while it was counted`)
    }))
    lost.catch(() => {})
    return {
      primaryUrl: primary.url,
      replicaUrls: form === 'read' ? urls : urls.slice(1),
      lost,

      /** Ends the servers. @returns {Promise<NodeCount[]>} the primary first @throws {FreshetError} COUNT_FAILED, SERVER_LOST */
      async end () {
        if (urls.length > 1) await untilEqual(urls[0], waitMs)
        const figures = await takeFigures(urls, { deadlineMs: waitMs })
        // the primary first: a replica that loses it only tries again a second later
        const counts = []
        for (const [i, node] of counted.entries()) {
          await shutDown(node)
          const { netInputBytes, netOutputBytes, connections, commands, calls, offset } = figures[i]
          counts.push({
            role: i === 0 && form !== 'read' ? /** @type {const} */ ('primary') : /** @type {const} */ ('replica'),
            instructions: await instructionsOf(own, node.pid),
            commands,
            offset,
            netInputBytes,
            netOutputBytes,
            connections,
            calls: Object.fromEntries(Object.entries(calls ?? {}).map(([name, { calls }]) => [name, calls]))
          })
        }
        return counts
      },
      close
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** @param {Server} node @param {RegExp} line */
async function untilLogged (node, line) {
  for (const until = now() + START_DEADLINE_MS; ; await pause(POLL_MS)) {
    const log = await node.log()
    if (line.test(log)) return
    if (node.hasExited() || now() > until) {
      const how = node.hasExited() ? `: it ended ${await node.exited}` : ''
      throw new FreshetError('COUNT_FAILED', `the server did not start under valgrind${how}. Its last lines:\n${log}`)
    }
  }
}

/** @param {import('../servers/query.js').Connection} node */
async function takeAllSlots (node) {
  await node.send('CLUSTER', 'ADDSLOTSRANGE', 0, LAST_SLOT)
  for (const until = now() + WAIT_MS; !String(await node.send('CLUSTER', 'INFO')).includes('cluster_state:ok'); await pause(1000)) {
    if (now() > until) throw new FreshetError('COUNT_FAILED', `the cluster of ${node.address} did not get ready`)
  }
}

/** Until the replica has all: it confirms what was written last. @param {string} primaryUrl @param {number} waitMs */
const untilEqual = (primaryUrl, waitMs) => queryNode(primaryUrl, async (primary) => {
  const [, replicas] = await primary.sendAll([['SET', 'lab-mark', '1'], ['WAIT', 1, waitMs / 2]])
  if (Number(replicas) < 1) throw new FreshetError('LAB_REPLICAS_BEHIND', `the replica of ${primary.address} fell behind under valgrind`)
}, { deadlineMs: waitMs })

/** @param {Server} node */
async function shutDown (node) {
  // it answers by closing the connection
  await queryNode(node.url, (connection) => connection.send('SHUTDOWN', 'NOSAVE'), { deadlineMs: WAIT_MS }).catch((error) => {
    if (error.code !== 'SERVER_LOST') throw error
  })
  await Promise.race([node.exited, pause(WAIT_MS, undefined, { ref: false })])
}
