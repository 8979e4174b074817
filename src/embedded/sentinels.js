/** Sentinels of the embedded servers: how they are configured, and which primary they name. */
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { openConnection } from '../store/index.js'
import { startServer } from './server-process.js'

/** @typedef {import('./server-process.js').Server} Server */

const SENTINELS = 3
const NAME = 'freshet'
const READY_WITHIN_MS = 30_000
const LOOK_MS = 50

/** Lines of their configuration. @param {{ port: number }} primary */
const sentinelConfig = ({ port }) => `bind 127.0.0.1
protected-mode yes
sentinel monitor ${NAME} 127.0.0.1 ${port} 2
sentinel down-after-milliseconds ${NAME} 1000
sentinel failover-timeout ${NAME} 10000
sentinel parallel-syncs ${NAME} 2
`

/** @param {{ port: number }[]} sentinels @returns {string} a value of --redis-url */
export const sentinelsUrl = (sentinels) => `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}/${NAME}`

/**
 * @param {Parameters<typeof startServer>[0]} plan @param {Server} primary @param {number} replicas how many it has
 * @returns {Promise<Server[]>} when each knows the replicas and the others @throws {FreshetError} SERVERS_FAILED
 */
export async function startSentinels (plan, primary, replicas) {
  const watch = { ...plan, sentinelConfig: sentinelConfig(primary) }
  const sentinels = await Promise.all(Array.from({ length: SENTINELS }, () => startServer(watch)))
  const wanted = new RegExp(`status=ok,address=[^,]+,slaves=${replicas},sentinels=${SENTINELS}`)
  for (const endMs = performance.now() + READY_WITHIN_MS; performance.now() < endMs; await pause(LOOK_MS)) {
    const known = await Promise.all(sentinels.map((one) => ask(one, 'INFO', 'sentinel').then(String, () => '')))
    if (known.every((info) => wanted.test(info))) return sentinels
  }
  throw new FreshetError('SERVERS_FAILED', `the Sentinels did not find all replicas within ${READY_WITHIN_MS / 1000} s`)
}

/** @param {{ url: string }[]} sentinels @returns {Promise<number>} the port of the primary, as one of them names it */
export const primaryPort = (sentinels) => Promise.any(sentinels.map(async (one) =>
  Number((await ask(one, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME))[1])))

/** @param {{ url: string }} sentinel @param {string} command @param {...string} args */
async function ask ({ url }, command, ...args) {
  const connection = await openConnection(url, { name: 'freshet-supervisor', deadlineMs: 1000 })
  return connection.send(command, ...args).finally(() => connection.close())
}
