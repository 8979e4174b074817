/**
 * How the processes that drive orders are: each stores what it sees, readers show it. A key per process, which expires with it.
 *
 * @typedef {{ id: string, cpuPercent: number, partitions: number, driven: number, breaker: string, paymentUrl: string | null }} Replica
 *   `cpuPercent` of one core; `driven`: orders at the moment; `paymentUrl`: of a provider on this machine, whose faults a page may switch
 */
const EVERY_MS = 1000
const LIVES_MS = 5000

/** @param {(part: string) => string} key of partition 0 @param {string} id */
const keyOf = (key, id) => key(`replica:${id}`)

/**
 * @param {{ connection: () => import('../../store/index.js').Connection, key: (part: string) => string, id: string,
 *   figures: () => Omit<Replica, 'id' | 'cpuPercent'> }} parts `connection` to the primary of partition 0; `id` as in heartbeats
 */
export function publishReplica ({ connection, key, id, figures }) {
  let [before, beforeMs] = [process.cpuUsage(), performance.now()]
  const timer = setInterval(async () => {
    const [{ user, system }, nowMs] = [process.cpuUsage(before), performance.now()]
    const cpuPercent = (user + system) / 10 / (nowMs - beforeMs)
    ;[before, beforeMs] = [process.cpuUsage(), nowMs]
    try {
      await connection().send('SET', keyOf(key, id), JSON.stringify({ id, cpuPercent, ...figures() }), 'PX', LIVES_MS)
    } catch {
      // the servers are away; the key expires
    }
  }, EVERY_MS).unref()
  return { close () { clearInterval(timer) } }
}

/**
 * @param {import('../../store/index.js').Connection} connection @param {(part: string) => string} key of partition 0
 * @returns {Promise<Replica[]>}
 */
export async function readReplicas (connection, key) {
  const ids = (await connection.send('ZRANGE', key('consumers'), 0, -1)).map(String)
  if (ids.length === 0) return []
  const texts = await connection.send('MGET', ...ids.map((/** @type {string} */ id) => keyOf(key, id)))
  return texts.flatMap((/** @type {unknown} */ text) => text === null ? [] : [JSON.parse(String(text))])
}
