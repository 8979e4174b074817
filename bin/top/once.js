/**
 * The figures once, as text: for pipes, scripts and terminals that are no screens. Nothing is followed, so that a reader does not
 * begin to hold a feed in memory for somebody who is gone at once.
 */
import { ReaderRefused } from './reader.js'
import { drawText } from './screen.js'

const ITEMS = 10
const USUAL_COLUMNS = 100

/**
 * @param {{ reader: import('./reader.js').Reader, feed: string | null, feeds: string[], columns?: number }} options
 * @returns {Promise<string>} lines
 * @throws {import('./reader.js').ReaderAway | ReaderRefused}
 */
export async function textOf ({ reader, feed, feeds, columns = USUAL_COLUMNS }) {
  if (feed === null) throw new ReaderRefused('FEED_UNKNOWN', `the reader at ${reader.url} has no feed yet: npm start writer begins one`)
  const newest = await reader.items(feed, ITEMS).then((items) => ({ items, itemsTrouble: null }), (error) => {
    if (!(error instanceof ReaderRefused)) throw error
    return { items: [], itemsTrouble: `the newest items are not known: ${error.message}` }
  })
  const figures = await reader.figures(feed, null)
  const shown = { url: reader.url, now: figures.asOf, feed, feeds, figures, troubles: [], ...newest, isPaused: false, typed: null, found: null }
  return drawText(shown, { columns, items: ITEMS }).join('\n') + '\n'
}
