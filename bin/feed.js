/**
 * `npm start feed -- list | show NAME | set NAME --window-ms 60000 | drop NAME`: shows, changes and removes feeds. A process file;
 * results go to standard output, one JSON line each.
 */
import { SettingsInvalid, help, resolve } from '../settings.js'
import { checkFeedName, dropFeed, extendFeed, listDefinitions, partitionKey, readDefinition, setRetention } from '../src/feeds/index.js'
import { layoutOf } from '../src/layouts/index.js'
import { createLog, listenForStop, visibleJson } from '../src/runtime/index.js'
import { openPrimaries, withTarget } from '../src/store/index.js'

const ACTIONS = ['list', 'show', 'set', 'drop']
const USAGE = `Usage: npm start feed -- list
       npm start feed -- show NAME
       npm start feed -- set NAME --window-ms 60000 --max-items 100000
       npm start feed -- drop NAME

Lists feeds, shows a feed, changes its retention, or deletes the feed with all its items.`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} process
 * @returns {Promise<number>} exit status
 */
export async function main ({ argv, env }) {
  const known = { command: 'feed', layouts: [], acks: [], positionals: 2 }
  if (argv.includes('--help')) {
    process.stdout.write(await help(known, USAGE) + '\n')
    return 0
  }
  /** @type {any} */
  const settings = resolve(argv, env, known)
  const request = wanted(settings)
  const log = createLog({ level: settings.logLevel, role: 'feed' })
  const stopping = listenForStop()
  try {
    return await withTarget(settings, { env, report: (line) => log.info(line), stopping }, async ({ primaryUrl }) => {
      const primaries = await openPrimaries(primaryUrl, { name: `freshet-feed-${process.pid}`, deadlineMs: settings.deadlineMs })
      const results = await act(primaries, settings.keyPrefix, request).finally(() => primaries.close())
      for (const result of results) process.stdout.write(visibleJson(result) + '\n')
      return 0
    })
  } finally {
    stopping.done()
  }
}

/**
 * @param {import('../src/store/index.js').Primaries} primaries @param {string} prefix
 * @param {ReturnType<typeof wanted>} request
 */
async function act (primaries, prefix, { action, feed, changes }) {
  const primary = primaries.router
  if (action === 'list') return listDefinitions(primary, prefix)
  if (action === 'show') return [shown(primaries, prefix, await readDefinition(primary, prefix, feed))]
  if (action === 'drop') return [{ event: 'dropped', feed, keys: await dropFeed(primary, prefix, feed, primaries.connections) }]
  const before = await readDefinition(primary, prefix, feed)
  checkBounded({ ...before, ...changes })
  const after = await setRetention(primary, prefix, feed, changes)
  await extendFeed(primary, prefix, before, after)
  return [after]
}

/**
 * With the partitions of each primary, where there are several.
 * @param {import('../src/store/index.js').Primaries} primaries @param {string} prefix
 * @param {import('../src/feeds/index.js').Definition} definition
 */
function shown (primaries, prefix, definition) {
  if (primaries.connections.length === 1) return definition
  const partitions = Array.from({ length: definition.partitions }, (_, partition) => partition)
  const addressOf = (/** @type {number} */ partition) => primaries.connectionOf(partitionKey(prefix, definition, partition)('')).address
  return {
    ...definition,
    primaries: primaries.connections.map(({ address }) =>
      ({ address, partitions: partitions.filter((partition) => addressOf(partition) === address) }))
  }
}

/**
 * Refuses a retention that writers would refuse.
 * @param {import('../src/feeds/index.js').Definition} wanted @throws {SettingsInvalid}
 */
function checkBounded ({ feed, layout, windowMs, maxItems }) {
  if (windowMs > 0 || maxItems > 0 || layoutOf(layout).describe().versions === 'one') return
  throw new SettingsInvalid([
    `windowMs: 0 and maxItems: 0 of feed ${feed} with layout ${layout}; expected one of them above 0: this layout keeps every version`
  ])
}

/** @param {any} settings */
function wanted ({ positionals: [action, feed], origins, windowMs, maxItems }) {
  const changes = {
    ...(origins.windowMs.startsWith('--') && { windowMs }),
    ...(origins.maxItems.startsWith('--') && { maxItems })
  }
  const faults = []
  if (!ACTIONS.includes(action)) {
    faults.push(`${action === undefined ? 'the action is missing' : `unknown action ${action}`}; expected ${ACTIONS.join(' | ')}`)
  }
  if (action === 'list' && feed !== undefined) faults.push(`list accepts no feed name (${feed})`)
  else if (['show', 'set', 'drop'].includes(action) && feed === undefined) faults.push(`${action} needs a feed name`)
  else if (action === 'set' && Object.keys(changes).length === 0) faults.push('set needs --window-ms or --max-items')
  if (action !== 'set' && Object.keys(changes).length > 0) faults.push('--window-ms and --max-items are for set only')
  if (faults.length) throw new SettingsInvalid(faults)
  if (feed !== undefined) checkFeedName(feed)
  return { action, feed, changes }
}
