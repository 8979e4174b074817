/** `npx freshet plan`: which nodes a feed needs, what is left of them, and what they cost; or what is left of servers that run. */
import { setTimeout as sleep } from 'node:timers/promises'
import { SettingsInvalid, settingsOf } from '../settings.js'
import { unknownName } from '../src/settings/index.js'
import { openConnection, openPrimaries, readInfo, replicaUrls } from '../src/store/index.js'
import { errorsOfFit, lackOf, LAYOUTS, NODES, planFor, PRICES } from './plan/model.js'
import { arithmetic, byDefaultText, planText, pricesAreOld, priceText, publishedText, reachText } from './plan/text.js'

/** What is left of servers that run: processor, network and memory of each node over a few seconds, and what to change first. */

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
 * @param {import('../src/store/index.js').Connection} connection @param {import('./plan/model.js').Node | null} node
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
 * @param {{ redisUrl: string, replicaUrl: string[] | null, node: import('./plan/model.js').Node | null, json: boolean }} settings
 *   `replicaUrl` null = those that the primary lists; `node`: their type; null = unknown
 * @returns {Promise<string>}
 */
async function liveText ({ redisUrl, replicaUrl, node, json }) {
  const options = { name: 'freshet-plan', deadlineMs: DEADLINE_MS }
  const primaries = await openPrimaries(redisUrl, options)
  /** @type {import('../src/store/index.js').Connection[]} */
  let replicas = []
  try {
    const urls = replicaUrl ?? (await Promise.all(primaries.connections.map(replicaUrls))).flat()
    const opened = await Promise.allSettled(urls.map((url) => openConnection(url, options)))
    // each that was opened is closed below
    replicas = opened.flatMap((result) => result.status === 'fulfilled' ? result.value : [])
    for (const result of opened) if (result.status === 'rejected') throw result.reason
    const nodes = await Promise.all([...primaries.connections, ...replicas].map((connection) => watch(connection, node)))
    return json ? JSON.stringify({ nodes }) + '\n' : textOf(nodes)
  } finally {
    for (const replica of replicas) replica.close()
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
  const { name, role, address, free } = all.reduce((least, part) => part.free < least.free ? part : least)
  const isUnknown = nodes[0].parts.some(({ limit }) => limit === null)
  return nodes.map((node) => `${node.role.padEnd(8)} ${node.address.padEnd(24)} ${node.parts.map(partText).join('   ')}\n`).join('') +
    `\nThe tightest is ${name} of the ${role} ${address}, ${Math.round(100 * free)} % free. To change first: ${ADVICE[name]}.\n` +
    (isUnknown ? 'With --node-type, network and memory are compared with the limits of that node.\n' : '')
}

const USAGE = `Usage: npx freshet plan [flags]

Says for each type of ElastiCache node how many shards a feed needs, how busy they are, and what they cost, the cheapest first.
20 % of each limit stay free. --window-ms without --max-items plans for all of the window. With --redis-url it says how much is left of
servers that run, and what to change first.

Examples:
  npx freshet plan --items-per-second 300000 --layout segments --replicas 2 --readers 4 --requests-per-second 20000
  npx freshet plan --items-per-second 300000 --node-type cache.r7g.xlarge --json
  npx freshet plan --redis-url redis://127.0.0.1:6379`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status: 0, or 1 if no node fits
 * @throws {SettingsInvalid}
 */
export async function main (from) {
  const settings = await settingsOf(from, { command: 'plan', layouts: Object.keys(LAYOUTS), acks: [] }, USAGE)
  if (settings === null) return 0
  const nodes = nodesOf(settings.nodeType)
  if (settings.redisUrl) {
    process.stdout.write(await liveText({ ...settings, node: settings.nodeType === null ? null : nodes[0] }))
    return 0
  }
  const load = askedLoad(settings)
  const now = new Date()
  const options = planFor(nodes, load)
  const others = othersOf(nodes, load, options, settings.maxItems)
  if (options.length === 0) {
    const { name, of, use, limit } = lackOf(nodes, load)
    const [needed, there] = [use, limit].map((n) => n.toLocaleString('en', { maximumSignificantDigits: 3 }))
    throw new SettingsInvalid([`no node has 20 % free, even with 90 shards: ${name} of ${of}, ${needed} needed and ${there} there; use ` +
      'layout segments, fewer replicas or readers, a shorter --window-ms, a smaller --max-items, or split the feed' +
      (others.byDefault ? `; ${byDefaultText(load, others.byDefault)}` : '')])
  }
  process.stdout.write(settings.json
    ? JSON.stringify({
      load: loadOf(load), prices: { ...PRICES, areOld: pricesAreOld(now) }, options, ...others, published: errorsOfFit()
    }) + '\n'
    : settings.nodeType === null
      ? planText(load, options, now, others)
      : arithmetic(load, options[0]) + reachText(load, others) + publishedText() + priceText(now))
  return 0
}

/** `--window-ms` without `--max-items` plans for the whole window. @param {any} settings @returns {import('./plan/model.js').Load} */
function askedLoad ({ origins, ...load }) {
  const isWindow = origins.windowMs !== 'default' && origins.maxItems === 'default' && load.windowMs > 0
  return isWindow ? { ...load, maxItems: 0 } : load
}

/**
 * @param {readonly import('./plan/model.js').Node[]} nodes @param {import('./plan/model.js').Load} load
 * @param {import('./plan/model.js').Option[]} options of the load @param {number} maxItems as set, or by default
 * @returns {import('./plan/text.js').Others}
 */
function othersOf (nodes, load, options, maxItems) {
  const [byDefault] = load.maxItems === maxItems ? [] : planFor(nodes, { ...load, maxItems })
  const isShort = load.windowMs > 0 && options.length > 0 && options[0].keptMs !== null
  return {
    whole: isShort ? planFor(nodes, { ...load, maxItems: 0 })[0] ?? 'none' : null,
    byDefault: byDefault?.keptMs != null ? byDefault : null
  }
}

/** @param {string | null} type @throws {SettingsInvalid} */
function nodesOf (type) {
  if (type === null) return NODES
  const matches = NODES.filter((node) => node.type === type.replace(/^cache\./, ''))
  if (matches.length > 0) return matches
  const types = NODES.map((node) => `cache.${node.type}`)
  throw new SettingsInvalid([unknownName(type, types, 'npx freshet plan --json lists the types', ' (--node-type)')])
}

/** @param {import('./plan/model.js').Load} settings */
const loadOf = ({ itemsPerSecond, valueBytes, layout, replicas, readers, requestsPerSecond, windowMs, maxItems, ids }) =>
  ({ itemsPerSecond, valueBytes, layout, replicas, readers, requestsPerSecond, windowMs, maxItems, ids })
