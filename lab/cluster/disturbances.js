/**
 * What happens to the servers of a feed in the window of a measurement. The servers are embedded ones: a node that was killed is started
 * again once another one has taken over (src/embedded/fleet.js).
 *
 * @typedef {{ redisUrl: string, key: string, slots: number[] }} Place `key` of the feed's first partition, `slots` of all partitions
 * @typedef {{ recoveryMs: number | null, wholeMs: number | null, slots: number, movesFailed: number, redirects: number | null }} Happened
 *   `recoveryMs`: until a replica was the primary; `wholeMs`: until it had a replica in sync; null: nothing was replaced, or no redirects
 *   were counted because nodes restarted
 */
import { slotOf, openConnection } from '../../src/store/index.js'
import { queryNode } from '../servers/query.js'
import { moveSlots } from './slots.js'
import { until } from './until.js'

/** @typedef {import('../../src/store/index.js').Connection} Connection */

const DEADLINE_MS = 30_000
/** of one question that is asked again: a node that was killed may accept a connection and not answer it */
const ANSWER_MS = 2000
const LOOK_MS = 10
/** a failover is asked for again */
const ASK_AGAIN_MS = 500
const NAME = 'freshet'
const REDIRECTS = /^errorstat_(?:MOVED|ASK|TRYAGAIN|CLUSTERDOWN):count=(\d+)/gm

/** @type {Readonly<Record<string, null | ((place: Place) => Promise<Partial<Happened>>)>>} */
const DISTURBANCES = Object.freeze({
  noop: null,
  kill: (place) => replace(place, ({ pid }) => { process.kill(pid, 'SIGKILL') }),
  planned: (place) => replace(place, failOver),
  'move-slots': (place) => move(place, { isAtomic: true }),
  'move-together': (place) => move(place, { isAtomic: true, isTogether: true }),
  'move-keys': (place) => move(place, { isAtomic: false })
})
export const TECHNIQUES = Object.freeze(Object.keys(DISTURBANCES))

/** @param {{ driver?: string } | undefined} contention @returns {boolean} whether it is one of these, in which nodes may change */
export const isDisturbed = (contention) => contention?.driver === 'cluster'

/** @param {string} technique one of TECHNIQUES @param {Place} place @returns {Promise<Happened>} */
export const disturb = async (technique, place) =>
  ({ recoveryMs: null, wholeMs: null, slots: 0, movesFailed: 0, redirects: null, ...await DISTURBANCES[technique]?.(place) })

/** @template T @param {string} url @param {(connection: Connection) => Promise<T>} query @param {number} [deadlineMs] of a reply */
const ask = (url, query, deadlineMs = DEADLINE_MS) => queryNode(url, query, { deadlineMs })

const urlOf = (/** @type {any} */ port) => `redis://127.0.0.1:${port}`
const isSentinel = (/** @type {string} */ url) => url.startsWith('redis+sentinel:')
/** of a Sentinel @param {string} url */
const sentinelOf = (url) => urlOf(/:(\d+)[,/]/.exec(url.slice('redis+sentinel:'.length))?.[1])

/** @param {Place} place @returns {Promise<{ primary: string, replicas: string[] }>} addresses of the nodes that have the key */
async function nodesOf ({ redisUrl, key }) {
  if (!isSentinel(redisUrl)) {
    const rows = await ask(redisUrl, (node) => node.send('CLUSTER', 'SLOTS'))
    const [, , ...nodes] = rows.find((/** @type {any[]} */ [first, last]) => slotOf(key) >= first && slotOf(key) <= last)
    const [primary, ...replicas] = nodes.map((/** @type {any[]} */ [, port]) => urlOf(port))
    return { primary, replicas }
  }
  const [, port] = await ask(sentinelOf(redisUrl), (node) => node.send('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME))
  const primary = urlOf(port)
  const [, , replicas] = await ask(primary, (node) => node.send('ROLE'))
  return { primary, replicas: replicas.map((/** @type {any[]} */ [, port]) => urlOf(port)) }
}

/** @param {Place} place @param {(what: Place & { pid: number, replicas: string[] }) => unknown} how */
async function replace (place, how) {
  const { primary, replicas } = await nodesOf(place)
  const pid = Number(/process_id:(\d+)/.exec(String(await ask(primary, (node) => node.send('INFO', 'server'))))?.[1])
  const roleOf = (/** @type {string} */ url) => ask(url, (node) => node.send('ROLE'), ANSWER_MS)
  const fromMs = performance.now()
  const asked = Promise.resolve(how({ ...place, pid, replicas }))
  const isTaken = async (/** @type {string} */ url) => String((await roleOf(url))[0]) === 'master'
  await until(async () => (await Promise.all(replicas.map(isTaken))).includes(true), { deadlineMs: DEADLINE_MS, everyMs: LOOK_MS })
  const recoveryMs = performance.now() - fromMs
  await asked
  await until(async () => {
    const [role, , , state] = await roleOf(primary)
    return String(role) === 'slave' && String(state) === 'connected'
  }, { deadlineMs: DEADLINE_MS })
  return { recoveryMs, wholeMs: performance.now() - fromMs }
}

/** @param {Place & { replicas: string[] }} what */
async function failOver ({ redisUrl, replicas: [replica] }) {
  if (isSentinel(redisUrl)) {
    await ask(sentinelOf(redisUrl), (node) => node.send('SENTINEL', 'FAILOVER', NAME, 'COORDINATED'))
    return
  }
  await ask(replica, (node) => until(async () => {
    await node.send('CLUSTER', 'FAILOVER').catch(() => {})
    for (const endMs = performance.now() + ASK_AGAIN_MS; performance.now() < endMs;) {
      if (String((await node.send('ROLE'))[0]) === 'master') return true
    }
    return false
  }, { deadlineMs: DEADLINE_MS }))
}

/** Each slot to the primary after its own. @param {Place} place @param {{ isAtomic: boolean, isTogether?: boolean }} how */
async function move ({ redisUrl, slots }, how) {
  const rows = await ask(redisUrl, (node) => node.send('CLUSTER', 'SLOTS'))
  const ports = [...new Set(rows.map((/** @type {any[]} */ [, , [, port]]) => Number(port)))]
  const primaries = await Promise.all(ports.map(async (port) =>
    ({ port, admin: await openConnection(urlOf(port), { name: 'freshet-lab', deadlineMs: DEADLINE_MS }) })))
  const ownerOf = (/** @type {number} */ slot) => ports.indexOf(Number(rows.find((/** @type {any[]} */ [first, last]) =>
    slot >= first && slot <= last)[2][1]))
  const redirects = async () => (await Promise.all(primaries.map(({ admin }) => admin.send('INFO', 'errorstats'))))
    .flatMap((text) => [...String(text).matchAll(REDIRECTS)]).reduce((sum, [, count]) => sum + Number(count), 0)
  try {
    const before = await redirects()
    const happened = { slots: 0, movesFailed: 0 }
    for (const from of ports.keys()) {
      const own = slots.filter((slot) => ownerOf(slot) === from)
      const { moved, failed } = await moveSlots(primaries, { slots: own, to: (from + 1) % ports.length, ...how })
      happened.slots += moved
      happened.movesFailed += failed
    }
    return { ...happened, redirects: await redirects() - before }
  } finally {
    for (const { admin } of primaries) admin.close()
  }
}
