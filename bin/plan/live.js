/** What is left of servers that run: processor, network and memory of each node over a few seconds, and what to change first. */
import { setTimeout as sleep } from 'node:timers/promises'
import { openConnection, openPrimaries, readInfo, replicaUrls } from '../../src/store/index.js'

const WATCHED_MS = 5000
const DEADLINE_MS = 5000
const GIB = 2 ** 30

/** @type {Readonly<Record<string, string>>} */
const ADVICE = Object.freeze({
  core: 'layout segments costs least; then longer --batch-ms, or another feed on servers of its own',
  'Gbit/s in': 'layout segments, and --compress brotli; else a larger node',
  'Gbit/s out': 'fewer replicas or readers of a node, or --compress brotli; else a larger node',
  GiB: 'a shorter --window-ms or a smaller --max-items; else a larger node'
})

/** @typedef {{ address: string, role: string, parts: { name: string, use: number, limit: number | null }[] }} LiveNode */

/**
 * @param {import('../../src/store/index.js').Connection} connection @param {import('./nodes.js').Node | null} node
 * @returns {Promise<LiveNode>}
 */
async function watch (connection, node) {
  const read = async () => readInfo(await connection.send('INFO'), connection.address)
  const before = await read()
  await sleep(WATCHED_MS)
  const after = await read()
  const seconds = (Number(after.server_time_usec) - Number(before.server_time_usec)) / 1e6 || WATCHED_MS / 1000
  const grown = (/** @type {string[]} */ ...names) =>
    names.reduce((sum, name) => sum + Number(after[name] ?? 0) - Number(before[name] ?? 0), 0) / seconds
  const hasThread = 'used_cpu_user_main_thread' in after
  const gbit = (/** @type {string[]} */ ...names) => grown(...names) * 8 / 1e9
  const memory = Number(after.maxmemory) || (node ? 0.75 * node.memoryGiB * GIB : 0)
  return {
    address: connection.address,
    role: after.role === 'master' ? 'primary' : 'replica',
    parts: [
      {
        name: 'core',
        use: hasThread ? grown('used_cpu_user_main_thread', 'used_cpu_sys_main_thread') : grown('used_cpu_user', 'used_cpu_sys'),
        limit: 1
      },
      { name: 'Gbit/s in', use: gbit('total_net_input_bytes', 'total_net_repl_input_bytes'), limit: node?.networkGbit ?? null },
      { name: 'Gbit/s out', use: gbit('total_net_output_bytes', 'total_net_repl_output_bytes'), limit: node?.networkGbit ?? null },
      { name: 'GiB', use: Number(after.used_memory) / GIB, limit: memory > 0 ? memory / GIB : null }
    ]
  }
}

/**
 * @param {{ redisUrl: string, replicaUrl: string[] | null, node: import('./nodes.js').Node | null, json: boolean }} settings
 *   `replicaUrl` null = those that the primary lists; `node`: their type; null = unknown
 * @returns {Promise<string>}
 */
export async function liveText ({ redisUrl, replicaUrl, node, json }) {
  const options = { name: 'freshet-plan', deadlineMs: DEADLINE_MS }
  const primaries = await openPrimaries(redisUrl, options)
  /** @type {import('../../src/store/index.js').Connection[]} */
  let replicas = []
  try {
    const urls = replicaUrl ?? (await Promise.all(primaries.connections.map(replicaUrls))).flat()
    const opened = await Promise.allSettled(urls.map((url) => openConnection(url, options)))
    // each that was opened is closed below
    replicas = opened.flatMap((one) => one.status === 'fulfilled' ? one.value : [])
    for (const one of opened) if (one.status === 'rejected') throw one.reason
    const nodes = await Promise.all([...primaries.connections, ...replicas].map((one) => watch(one, node)))
    return json ? JSON.stringify({ nodes }) + '\n' : textOf(nodes)
  } finally {
    for (const one of replicas) one.close()
    await primaries.close()
  }
}

/** @param {LiveNode[]} nodes */
function textOf (nodes) {
  const short = (/** @type {number} */ n) => n.toPrecision(3)
  /** @param {LiveNode['parts'][number]} part */
  const partText = ({ name, use, limit }) =>
    `${name} ${short(use)}${limit === null ? '' : ` of ${short(limit)} (${Math.round(100 * (1 - use / limit))} % free)`}`
  const all = nodes.flatMap(({ address, role, parts }) => parts.flatMap(({ name, use, limit }) =>
    limit === null ? [] : [{ address, role, name, free: 1 - use / limit }]))
  const { name, role, address, free } = all.reduce((least, one) => one.free < least.free ? one : least)
  const isUnknown = nodes[0].parts.some(({ limit }) => limit === null)
  return nodes.map((node) => `${node.role.padEnd(8)} ${node.address.padEnd(24)} ${node.parts.map(partText).join('   ')}\n`).join('') +
    `\nThe tightest is ${name} of the ${role} ${address}, ${Math.round(100 * free)} % free. To change first: ${ADVICE[name]}.\n` +
    (isUnknown ? 'With --node-type, network and memory are compared with the limits of that node.\n' : '')
}
