/**
 * `npm start feed -- list | show NAME | set NAME --window-ms 60000 | drop NAME`: shows, changes and removes feeds. A process file;
 * results go to standard output, one JSON line each.
 */
import { SettingsInvalid, help, resolve } from '../settings.js'
import { checkFeedName, dropFeed, extendFeed, listDefinitions, readDefinition, setRetention } from '../src/feeds/index.js'
import { layoutOf } from '../src/layouts/index.js'
import { createLog, listenForStop, visibleJson } from '../src/runtime/index.js'
import { openServer, withTarget } from '../src/store/index.js'
import { watchFeed } from './feed-watch.js'

const ACTIONS = ['list', 'show', 'set', 'drop']
const USAGE = `Usage: npm start feed -- list
       npm start feed -- show NAME [--watch]
       npm start feed -- set NAME --window-ms 60000 --max-items 100000
       npm start feed -- drop NAME

Lists feeds, shows a feed, changes its retention, or deletes the feed with all its items.
With --watch it shows rate, lag and newest items once a second, until Ctrl-C.`

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
    return await withTarget(settings, { env, report: (line) => log.info(line), stopping }, async ({ primaryUrl, replicaUrls }) => {
      if (settings.watch) {
        const { keyPrefix, deadlineMs } = settings
        await watchFeed(request.feed, { primaryUrl, replicaUrls, keyPrefix, deadlineMs, log, signal: stopping.signal }, print)
        return 0
      }
      const primary = await openServer(primaryUrl, { name: `freshet-feed-${process.pid}`, deadlineMs: settings.deadlineMs })
      const results = await act(primary, settings.keyPrefix, request).finally(() => primary.close())
      results.forEach(print)
      return 0
    })
  } finally {
    stopping.done()
  }
}

/** @param {object} result */
function print (result) { process.stdout.write(visibleJson(result) + '\n') }

/**
 * @param {import('../src/store/index.js').Connection} primary @param {string} prefix
 * @param {ReturnType<typeof wanted>} request
 */
async function act (primary, prefix, { action, feed, changes }) {
  if (action === 'list') return listDefinitions(primary, prefix)
  if (action === 'show') return [await readDefinition(primary, prefix, feed)]
  if (action === 'drop') return [{ event: 'dropped', feed, keys: await dropFeed(primary, prefix, feed) }]
  const before = await readDefinition(primary, prefix, feed)
  checkBounded({ ...before, ...changes })
  const after = await setRetention(primary, prefix, feed, changes)
  await extendFeed(primary, prefix, before, after)
  return [after]
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
function wanted ({ positionals: [action, feed], origins, windowMs, maxItems, watch }) {
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
  if (action !== 'show' && watch) faults.push('--watch is for show only')
  if (faults.length) throw new SettingsInvalid(faults)
  if (feed !== undefined) checkFeedName(feed)
  return { action, feed, changes }
}
