/**
 * `npm start top`: the figures of a feed in a terminal, asked of a reader. A process file: settings, then the live screen, or
 * its text where there is no screen.
 */
import { help, resolve } from '../settings.js'
import { listenForStop } from '../src/lifecycle.js'
import { showLive } from './top/live.js'
import { textOf } from './top/once.js'
import { createReader, ReaderRefused } from './top/reader.js'
import { firstOf } from './top/watch.js'

const USAGE = `Usage: npm start top -- [flags]

Shows how fast a feed is, what is live, its newest items and its nodes, as a reader tells it, until q or Ctrl-C.
Without --feed it begins with latest, or the first there is. Where standard output is no terminal, or TERM is
dumb, and with --once, it prints that as plain text and ends. NO_COLOR takes the colors away.`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status: 0, or 1 when no reader answers or it has no such feed
 */
export async function main ({ argv, env }) {
  const known = { command: 'top', layouts: [], acks: [] }
  if (argv.includes('--help')) {
    process.stdout.write(await help(known, USAGE) + '\n')
    return 0
  }
  /** @type {any} */
  const { url, liveToken: token, feed: wanted, once } = resolve(argv, env, known)
  const stopping = listenForStop()
  try {
    const reader = createReader({ url, signal: stopping.signal })
    const isScreen = !once && process.stdout.isTTY && env.TERM !== 'dumb'
    const shown = { reader, ...await firstFeed(reader, wanted, isScreen) }
    if (isScreen) await showLive({ ...shown, token, color: !env.NO_COLOR, stopping })
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
 * @param {boolean} canWait whether a reader that cannot say which feeds there are may be asked again later
 * @returns {Promise<{ feed: string | null, feeds: string[] }>}
 */
async function firstFeed (reader, wanted, canWait) {
  const feeds = await reader.feeds().catch((error) => {
    if (error instanceof ReaderRefused && (canWait || wanted !== null)) return null
    throw error
  })
  if (feeds === null) return { feed: wanted, feeds: [] }
  if (wanted === null || feeds.includes(wanted)) return { feed: wanted ?? firstOf(feeds), feeds }
  throw new ReaderRefused('FEED_UNKNOWN', `the reader at ${reader.url} has no feed ${wanted}; ${feeds.length ? `it has ${feeds.join(' ')}` : 'it has none'}`)
}
