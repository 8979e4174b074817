/**
 * `npm start top`: the figures of a feed in a terminal, read from a reader. A process file: settings, then the live screen or
 * plain text.
 */
import { help, resolve } from '../settings.js'
import { listenForStop } from '../src/runtime/index.js'
import { showLive } from './top/live.js'
import { textOf } from './top/once.js'
import { createReader, ReaderRefused } from './top/reader.js'
import { firstOf } from './top/watch.js'

const USAGE = `Usage: npm start top -- [flags]

Shows the rate, the live items, the newest items and the nodes of a feed, until q or Ctrl-C.
Without --feed it starts with latest, or else the first feed.
With --once, TERM=dumb, or output to a file or pipe, it prints plain text once and exits.
NO_COLOR turns colors off.

Examples:
  npm start top -- --feed latest
  npm start top -- --url http://127.0.0.1:9090 --once`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status: 0, or 1 if the reader is unreachable or does not have the feed
 */
export async function main ({ argv, env }) {
  const known = { command: 'top', layouts: [], acks: [] }
  if (argv.includes('--help')) {
    process.stdout.write(await help(known, USAGE, argv) + '\n')
    return 0
  }
  /** @type {any} */
  const { url, token, feed: wanted, once } = resolve(argv, env, known)
  const stopping = listenForStop()
  try {
    const reader = createReader({ url, token, signal: stopping.signal })
    const isScreen = !once && process.stdout.isTTY && env.TERM !== 'dumb'
    const shown = { reader, ...await firstFeed(reader, wanted, isScreen) }
    if (isScreen) await showLive({ ...shown, color: !env.NO_COLOR, stopping })
    else process.stdout.write(await textOf({ ...shown, columns: process.stdout.columns }))
    return 0
  } catch (error) {
    if (stopping.signal.aborted) return 0
    throw error
  } finally {
    stopping.done()
  }
}

/**
 * @param {import('./top/reader.js').Reader} reader @param {string | null} wanted
 * @param {boolean} canRetry the list of feeds may be requested again later
 * @returns {Promise<{ feed: string | null, feeds: string[] }>}
 */
async function firstFeed (reader, wanted, canRetry) {
  const feeds = await reader.feeds().catch((error) => {
    if (error instanceof ReaderRefused && (canRetry || wanted !== null)) return null
    throw error
  })
  if (feeds === null) return { feed: wanted, feeds: [] }
  if (wanted === null || feeds.includes(wanted)) return { feed: wanted ?? firstOf(feeds), feeds }
  const known = feeds.length ? `it has ${feeds.join(' ')}` : 'it has none'
  throw new ReaderRefused('FEED_UNKNOWN', `the reader at ${reader.url} has no feed ${wanted}; ${known}`)
}
