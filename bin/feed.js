/**
 * `npm start feed -- list | show NAME | create NAME | set NAME | drop NAME`: shows, creates, changes and removes feeds. A process file;
 * results go to standard output: one JSON line each, or a table at a terminal.
 */
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { SettingsInvalid, settingsOf } from '../settings.js'
import { withTarget } from '../src/embedded/index.js'
import {
  changeRetention, checkFeedName, createFeed, definitionOf, dropFeed, listDefinitions, partitionKey, readDefinition
} from '../src/feeds/index.js'
import { createFigures, EVERY_MS } from '../src/figures/index.js'
import { openReader } from '../src/index.js'
import { insideOfReader } from '../src/inside.js'
import { layoutNames } from '../src/layouts/index.js'
import { createLog, listenForStop, visible, visibleJson } from '../src/runtime/index.js'
import { openPrimaries } from '../src/store/index.js'
import { columns } from './columns.js'

/**
 * `npm start feed -- show NAME --watch`: rate, lag and newest items of a feed, once a second.
 *
 * @typedef {{ at: string, itemsPerSecond: number | null, writers: number | null, count: number | null, lagMs: number | null,
 *   newest: { id: string, ts: number, value: string }[] | null }} Line null = unknown; `lagMs`: of the replica that is furthest behind
 */

const NEWEST = 3

/**
 * @param {string} feed
 * @param {{ primaryUrl: string, replicaUrls: string[] | null, keyPrefix: string, deadlineMs: number, log: import('pino').Logger,
 *   signal: AbortSignal }} options
 * @param {(line: Line) => void} print
 * @returns {Promise<void>} when the signal is aborted @throws {import('../src/errors.js').FreshetError} FEED_UNKNOWN
 */
export async function watchFeed (feed, { primaryUrl, replicaUrls, keyPrefix, deadlineMs, log, signal }, print) {
  const reader = await openReader({
    redisUrl: primaryUrl, replicaUrl: replicaUrls ?? undefined, keyPrefix, deadlineMs, views: 'none', log
  })
  const { queries, deployment } = insideOfReader(reader)
  const figures = createFigures({ queries, deployment, keyPrefix, now: Date.now, log })
  try {
    while (!signal.aborted) {
      const [{ itemsPerSecond, writers, count, nodes }, page] = await Promise.all([
        figures.of(feed, Infinity),
        queries.latest(feed, { limit: NEWEST }).catch((error) => {
          if (!error.retryable) throw error
          return null
        })
      ])
      const lags = nodes.flatMap(({ lagMs }) => lagMs === null ? [] : [lagMs])
      print({
        at: new Date().toISOString(),
        itemsPerSecond,
        writers,
        count,
        lagMs: lags.length > 0 ? Math.max(...lags) : null,
        newest: page && page.items.map(({ id, ts, value }) => ({ id: String(id), ts, value: String(value) }))
      })
      await sleep(EVERY_MS, null, { signal }).catch(() => {})
    }
  } finally {
    figures.close()
    await reader.close()
  }
}

const ACTIONS = ['list', 'show', 'create', 'set', 'drop']
const RETENTION = ['windowMs', 'maxItems']
const FIXED = ['layout', 'partitions', 'late']
const USAGE = `Usage: npm start feed -- list
       npm start feed -- show NAME [--watch]
       npm start feed -- create NAME --window-ms 3600000 --layout segments
       npm start feed -- set NAME --window-ms 60000 --max-items 100000
       npm start feed -- drop NAME

Lists feeds, shows a feed, creates one before its first item, changes its retention, or deletes the feed with all its items.
At a terminal, drop asks first. With --watch, show prints rate, lag and newest items once a second, until Ctrl-C.`

/** @typedef {import('../src/feeds/index.js').Definition} Definition */

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status
 */
export async function main (from) {
  const settings = await settingsOf(from, { command: 'feed', layouts: layoutNames(), acks: [], positionals: 2 }, USAGE)
  if (settings === null) return 0
  const request = requestOf(settings)
  const log = createLog({ level: settings.logLevel, role: 'feed' })
  const stopping = listenForStop()
  try {
    const to = { env: from.env, report: (/** @type {string} */ line) => log.info(line), stopping }
    return await withTarget(settings, to, async ({ primaryUrl, replicaUrls }) => {
      if (settings.watch) {
        const { keyPrefix, deadlineMs } = settings
        await watchFeed(request.feed, { primaryUrl, replicaUrls, keyPrefix, deadlineMs, log, signal: stopping.signal }, print)
        return 0
      }
      const primaries = await openPrimaries(primaryUrl, { name: `freshet-feed-${process.pid}`, deadlineMs: settings.deadlineMs })
      try {
        if (request.action === 'drop' && !await isConfirmed(primaries.router, settings.keyPrefix, request.feed, stopping.signal)) return 1
        const results = await act(primaries, settings, request)
        process.stdout.write(process.stdout.isTTY && !settings.json ? textOf(request, results) : results.map(lineOf).join(''))
        return 0
      } finally {
        await primaries.close()
      }
    })
  } finally {
    stopping.done()
  }
}

/** @param {object} result */
function print (result) { process.stdout.write(lineOf(result)) }

/**
 * @param {import('../src/store/index.js').Primaries} primaries @param {any} settings
 * @param {ReturnType<typeof requestOf>} request
 * @returns {Promise<any[]>}
 */
async function act (primaries, settings, { action, feed, changes }) {
  const prefix = settings.keyPrefix
  const primary = primaries.router
  if (action === 'list') return listDefinitions(primary, prefix)
  if (action === 'show') return [shown(primaries, prefix, await readDefinition(primary, prefix, feed))]
  if (action === 'drop') return [{ event: 'dropped', feed, keys: await dropFeed(primary, prefix, feed, primaries.connections) }]
  if (action === 'set') return [await changeRetention(primaries, prefix, feed, changes)]
  const { definition } = await createFeed(primary, prefix, definitionOf({ ...settings, feed }))
  const stored = /** @type {Record<string, any>} */ (definition)
  const others = Object.keys(changes).filter((name) => stored[name] !== settings[name])
  if (others.length === 0) return [definition]
  throw new SettingsInvalid(others.map((name) => `${name}: feed ${feed} exists already, with ${name} ${stored[name]}; change it with set`))
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
 * A person at a terminal types the name of the feed.
 * @param {import('../src/store/index.js').Router} primary @param {string} prefix @param {string} feed @param {AbortSignal} signal
 * @returns {Promise<boolean>}
 */
async function isConfirmed (primary, prefix, feed, signal) {
  if (!process.stdin.isTTY || !process.stderr.isTTY) return true
  await readDefinition(primary, prefix, feed)
  process.stderr.write(`This deletes feed ${feed} and all its items. Type its name to confirm: `)
  // without terminal: true, Ctrl-C stays a signal
  const lines = createInterface({ input: process.stdin, terminal: false })
  const close = () => lines.close()
  signal.addEventListener('abort', close, { once: true })
  const answer = await new Promise((resolve) => lines.once('line', resolve).once('close', () => resolve('')))
  signal.removeEventListener('abort', close)
  close()
  if (answer.trim() === feed) return true
  process.stderr.write('nothing was dropped\n')
  return false
}

const lineOf = (/** @type {unknown} */ result) => visibleJson(result) + '\n'

/** @param {ReturnType<typeof requestOf>} request @param {any[]} results @returns {string} as a person reads it */
function textOf ({ action, feed }, results) {
  if (action === 'drop') return `dropped feed ${feed}: ${results[0].keys} keys\n`
  if (results.length === 0) return 'there are no feeds\n'
  const limit = (/** @type {number} */ n) => n === 0 ? 'none' : n.toLocaleString('en')
  const rows = results.map((/** @type {Definition} */ { feed: name, layout, partitions, windowMs, maxItems, late, createdAt }) =>
    [name, layout, String(partitions), limit(windowMs), limit(maxItems), late ?? '-', createdAt].map(visible))
  return columns([['feed', 'layout', 'partitions', 'window ms', 'max items', 'late', 'created'], ...rows])
}

/** @param {any} settings */
function requestOf ({ positionals: [action, feed], origins, ...settings }) {
  const flagsAmong = (/** @type {string[]} */ names) => names.filter((name) => origins[name].startsWith('--'))
  const changes = Object.fromEntries(flagsAmong(RETENTION).map((name) => [name, settings[name]]))
  const faults = []
  if (!ACTIONS.includes(action)) {
    faults.push(`${action === undefined ? 'the action is missing' : `unknown action ${action}`}; expected ${ACTIONS.join(' | ')}`)
  }
  if (action === 'list' && feed !== undefined) faults.push(`list accepts no feed name (${feed})`)
  else if (action !== 'list' && ACTIONS.includes(action) && feed === undefined) faults.push(`${action} needs a feed name`)
  else if (action === 'set' && Object.keys(changes).length === 0) faults.push('set needs --window-ms or --max-items')
  const only = (/** @type {string[]} */ actions, /** @type {string[]} */ names) => actions.includes(action)
    ? []
    : flagsAmong(names).map((name) => `${origins[name]} is only for ${actions.join(' and ')}`)
  faults.push(...only(['create', 'set'], RETENTION), ...only(['create'], FIXED), ...only(['show'], ['watch']))
  if (faults.length) throw new SettingsInvalid(faults)
  if (feed !== undefined) checkFeedName(feed)
  return { action, feed, changes }
}
