/** All feeds: layout, rate, live ids and age of the newest item of each. */
import { getJson, pathOf } from './api.js'
import { at, make, pause, put } from './elements.js'
import { UNKNOWN, ageText, counted, number } from './text.js'

/** figures are requested in groups, so that many feeds are no burst */
const GROUP = 6
const APART_MS = 100
/** later than any sample: without history */
const NO_HISTORY = 2 ** 41 - 1
const byName = new Intl.Collator('en', { numeric: true })

/** @typedef {{ feed: string, layout: string }} Definition */

export function createOverview () {
  const body = at('feeds')
  /** @type {Map<string, any>} */
  const rows = new Map()

  /** @param {Definition[]} definitions in order */
  function arrange (definitions) {
    for (const [feed, row] of rows) {
      if (definitions.some((one) => one.feed === feed)) continue
      row.remove()
      rows.delete(feed)
    }
    definitions.forEach(({ feed, layout }, index) => {
      const row = rows.get(feed) ?? createRow(feed)
      rows.set(feed, row)
      put(row.cells[1], layout)
      if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null)
    })
    put(at('overview-how'), counted(definitions.length, 'feed'))
  }

  return {
    /**
     * Shows all feeds, then the figures of each.
     * @param {Definition[]} definitions
     * @param {AbortSignal} signal
     * @returns {Promise<void>}
     */
    async show (definitions, signal) {
      const sorted = definitions.toSorted((a, b) => byName.compare(a.feed, b.feed))
      arrange(sorted)
      for (let i = 0; i < sorted.length && !signal.aborted; i += GROUP) {
        if (i > 0) await pause(APART_MS, signal)
        await Promise.all(sorted.slice(i, i + GROUP).map(async ({ feed }) => {
          const figures = await getJson(pathOf(feed, `/figures?since=${NO_HISTORY}`), signal).catch(() => null)
          if (!signal.aborted) write(rows.get(feed), figures)
        }))
      }
    }
  }
}

/** @param {string} feed */
function createRow (feed) {
  const link = make('a', { href: `/?feed=${encodeURIComponent(feed)}`, textContent: feed })
  const unknown = Array.from({ length: 4 }, () => make('td', { textContent: UNKNOWN }))
  return make('tr', {}, make('th', { scope: 'row' }, link), ...unknown)
}

/** @param {any} row @param {any} figures of one feed; null = the reader does not know them */
function write ({ cells: [, , rate, count, newest] }, figures) {
  const { itemsPerSecond = null, count: live = null, newestTs = null, asOf = 0 } = figures ?? {}
  put(rate, number(itemsPerSecond))
  put(count, number(live))
  put(newest, newestTs === null ? UNKNOWN : `${ageText(asOf - newestTs)} ago`)
}
