/** The figures once, as text: for pipes, scripts and terminals that are no screens. */
import { followNewest } from './newest.js'
import { ReaderRefused } from './reader.js'
import { drawText } from './screen.js'

const ITEMS = 10
/** so long the newest items are waited for */
const ITEMS_WITHIN_MS = 3000
const USUAL_COLUMNS = 100

/**
 * @param {{ reader: import('./reader.js').Reader, token: string | null, feed: string | null, feeds: string[], signal: AbortSignal,
 *   columns?: number }} options
 * @returns {Promise<string>} lines
 * @throws {import('./reader.js').ReaderAway | ReaderRefused}
 */
export async function textOf ({ reader, token, feed, feeds, signal, columns = USUAL_COLUMNS }) {
  if (feed === null) throw new ReaderRefused('FEED_UNKNOWN', `the reader at ${reader.url} has no feed yet: npm start writer begins one`)
  const newest = await newestNow({ url: reader.url, feed, token, signal })
  const figures = await reader.figures(feed, null)
  const lines = drawText({ url: reader.url, now: figures.asOf, feed, feeds, figures, troubles: [], ...newest, isPaused: false, typed: null, found: null }, { columns, items: ITEMS })
  return lines.join('\n') + '\n'
}

/**
 * @param {{ url: string, feed: string, token: string | null, signal: AbortSignal }} of
 * @returns {Promise<Pick<import('./screen.js').Shown, 'items' | 'itemsTrouble'>>}
 */
async function newestNow ({ signal, ...of }) {
  const enough = new AbortController()
  const stop = () => enough.abort()
  signal.addEventListener('abort', stop)
  const timer = setTimeout(stop, ITEMS_WITHIN_MS)
  /** @type {import('./screen.js').Item[]} */
  let items = []
  /** @type {string | null} */
  let itemsTrouble = `the newest items are not known: the reader has told none within ${ITEMS_WITHIN_MS / 1000} s`
  await followNewest({
    ...of,
    signal: enough.signal,
    onItems (those) {
      items = those
      itemsTrouble = null
      stop()
    },
    onTrouble (trouble) {
      itemsTrouble = trouble
      stop()
    }
  })
  clearTimeout(timer)
  signal.removeEventListener('abort', stop)
  return { items, itemsTrouble }
}
