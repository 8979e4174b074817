/** The rows of the list of items: one for each id, and of several feeds with the name of its feed. */
import { arrange, make, put } from './elements.js'
import { keyOf } from './newest.js'
import { ageText, preview } from './text.js'

const PREVIEW_CHARS = 160
/** a row that changes all the time does not flash */
const FLASH_APART_MS = 3000
const GLIDE_MS = 350
const byId = new Intl.Collator('en', { numeric: true })

/** @typedef {import('./newest.js').Shown} Shown */
/** @typedef {Shown & { row: any, flashedMs: number }} Line */

/** @param {{ body: any, now: () => number, isCalm: () => boolean }} parts `body`: of the table; `isCalm`: without animation */
export function createRows ({ body, now, isCalm }) {
  /** by key @type {Map<string, Line>} */
  const lines = new Map()

  return {
    get size () { return lines.size },

    /** @param {Shown[]} items @returns {Shown[]} those that are new or differ */
    changed: (items) => items.filter((item) => {
      const line = lines.get(keyOf(item))
      return line === undefined || line.ts !== item.ts || (typeof item.value === 'string' && line.value !== item.value)
    }),

    /** @param {Shown[]} items @param {boolean} canFlash */
    put (items, canFlash) {
      const atMs = performance.now()
      for (const item of items) {
        const line = Object.assign(lines.get(keyOf(item)) ?? createLine(item), item)
        lines.set(keyOf(item), line)
        if (!canFlash || atMs - line.flashedMs < FLASH_APART_MS) continue
        line.flashedMs = atMs
        line.row.classList.add('new')
      }
    },

    /** @param {(line: Line) => boolean} isKept */
    keep (isKept) {
      for (const [key, line] of lines) if (!isKept(line)) lines.delete(key)
    },

    /** Puts the rows in order. @param {boolean} areById else by time, newest first @param {number} max @param {number} added rows on top */
    arrange (areById, max, added) {
      const sorted = [...lines.values()].sort(areById ? (a, b) => byId.compare(a.id, b.id) : (a, b) => b.ts - a.ts)
      for (const line of sorted.splice(max)) lines.delete(keyOf(line))
      const rows = sorted.map(({ row }) => row)
      arrange(body, rows)
      if (added === 0 || isCalm() || rows.length <= added) return
      const height = rows[0].offsetHeight * added
      body.animate([{ transform: `translateY(${-height}px)` }, { transform: 'none' }], { duration: GLIDE_MS, easing: 'ease-out' })
    },

    /** Updates text and ages. */
    write () {
      for (const { id, ts, value, isBytes, row } of lines.values()) {
        const [first, age, last] = [...row.cells].slice(-3)
        put(first.firstChild, id)
        put(age, ageText(now() - ts))
        put(last, preview(value, PREVIEW_CHARS))
        last.classList.toggle('bytes', isBytes)
      }
    },

    clear () {
      lines.clear()
      body.replaceChildren()
    }
  }
}

/** @param {Shown} item @returns {Line} */
function createLine (item) {
  const { id, feed } = item
  const shows = { className: 'id', title: 'Show and follow this item' }
  const cells = feed === undefined
    ? [make('td', {}, make('button', { type: 'button', ...shows }))]
    : [make('td', {}, linkTo({ feed }, feed)), make('td', {}, Object.assign(linkTo({ feed, id }, id), shows))]
  const row = make('tr', {}, ...cells, make('td'), make('td'))
  row.addEventListener('animationend', () => row.classList.remove('new'))
  return { ...item, row, flashedMs: -Infinity }
}

/** @param {Record<string, string>} query of the page @param {string} textContent */
const linkTo = (query, textContent) => make('a', { href: `/?${new URLSearchParams(query)}`, textContent })
