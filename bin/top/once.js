/**
 * The figures once, as text: for pipes, scripts and simple terminals. No stream is opened: it could make the reader start a view
 * of the feed for one request.
 */
import { ReaderRefused } from './reader.js'
import { drawText } from './screen.js'

const ITEMS = 10
const DEFAULT_COLUMNS = 100

/**
 * @param {{ reader: import('./reader.js').Reader, feed: string | null, feeds: string[], columns?: number }} options
 * @returns {Promise<string>} lines
 * @throws {import('./reader.js').ReaderAway | ReaderRefused}
 */
export async function textOf ({ reader, feed, feeds, columns = DEFAULT_COLUMNS }) {
  if (feed === null) throw new ReaderRefused('FEED_UNKNOWN', `the reader at ${reader.url} has no feed yet; npm start writer creates one`)
  const newest = await reader.items(feed, ITEMS).then((items) => ({ items, itemsTrouble: null }), (error) => {
    if (!(error instanceof ReaderRefused)) throw error
    return { items: [], itemsTrouble: `newest items unavailable: ${error.message}` }
  })
  const figures = await reader.figures(feed, null)
  const idle = { troubles: [], isPaused: false, typed: null, found: null }
  const lines = drawText({ url: reader.url, now: figures.asOf, feed, feeds, figures, ...newest, ...idle }, { columns, items: ITEMS })
  return lines.join('\n') + '\n'
}
