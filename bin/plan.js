/** `npx freshet plan`: which nodes a feed needs, what is left of them, and what they cost; or what is left of servers that run. */
import { settingsOf, SettingsInvalid } from '../settings.js'
import { unknownName } from '../src/settings/index.js'
import { LAYOUTS } from './plan/layouts.js'
import { liveText } from './plan/live.js'
import { lackOf, planFor } from './plan/model.js'
import { NODES, PRICES } from './plan/nodes.js'
import { errorsOfFit } from './plan/published.js'
import { arithmetic, byDefaultText, planText, pricesAreOld, priceText, publishedText, reachText } from './plan/text.js'

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
 * @param {readonly import('./plan/nodes.js').Node[]} nodes @param {import('./plan/model.js').Load} load
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
  const found = NODES.filter((node) => node.type === type.replace(/^cache\./, ''))
  if (found.length > 0) return found
  const known = NODES.map((node) => `cache.${node.type}`)
  throw new SettingsInvalid([unknownName(type, known, 'npx freshet plan --json lists the types', ' (--node-type)')])
}

/** @param {import('./plan/model.js').Load} settings */
const loadOf = ({ itemsPerSecond, valueBytes, layout, replicas, readers, requestsPerSecond, windowMs, maxItems, ids }) =>
  ({ itemsPerSecond, valueBytes, layout, replicas, readers, requestsPerSecond, windowMs, maxItems, ids })
