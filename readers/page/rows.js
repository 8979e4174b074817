/** The rows of the list of items: one for each id. */
import { arrange, make, put } from './elements.js'
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
  /** @type {Map<string, Line>} */
  const lines = new Map()

  return {
    get size () { return lines.size },

    /** @param {Shown[]} items @returns {Shown[]} those that are new or differ */
    changed: (items) => items.filter(({ id, ts, value }) => {
      const line = lines.get(id)
      return line === undefined || line.ts !== ts || (typeof value === 'string' && line.value !== value)
    }),

    /** @param {Shown[]} items @param {boolean} canFlash */
    put (items, canFlash) {
      const atMs = performance.now()
      for (const item of items) {
        const line = Object.assign(lines.get(item.id) ?? createLine(item), item)
        lines.set(item.id, line)
        if (!canFlash || atMs - line.flashedMs < FLASH_APART_MS) continue
        line.flashedMs = atMs
        line.row.classList.add('new')
      }
    },

    /** @param {(line: Line) => boolean} isKept */
    keep (isKept) {
      for (const [id, line] of lines) if (!isKept(line)) lines.delete(id)
    },

    /** Puts the rows in order. @param {boolean} areById else by time, newest first @param {number} max @param {number} added rows on top */
    arrange (areById, max, added) {
      const sorted = [...lines.values()].sort(areById ? (a, b) => byId.compare(a.id, b.id) : (a, b) => b.ts - a.ts)
      for (const { id } of sorted.splice(max)) lines.delete(id)
      const rows = sorted.map(({ row }) => row)
      arrange(body, rows)
      if (added === 0 || isCalm() || rows.length <= added) return
      const height = rows[0].offsetHeight * added
      body.animate([{ transform: `translateY(${-height}px)` }, { transform: 'none' }], { duration: GLIDE_MS, easing: 'ease-out' })
    },

    /** Updates text and ages. */
    write () {
      for (const { id, ts, value, isBytes, row } of lines.values()) {
        const [first, age, last] = row.cells
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
  const button = make('button', { type: 'button', className: 'id', title: 'Show and follow this item' })
  const row = make('tr', {}, make('td', {}, button), make('td'), make('td'))
  row.addEventListener('animationend', () => row.classList.remove('new'))
  return { ...item, row, flashedMs: -Infinity }
}
