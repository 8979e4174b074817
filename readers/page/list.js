/**
 * The list of newest items. If all live items fit it is a board of all, sorted by id; otherwise the newest are on top. Of a fast
 * feed it shows a sample, at a pace that can be read. It does not move while it is paused, pointed at, or focused.
 */
import { arrange, at, make, put } from './elements.js'
import { keyOf, SHOWN } from './newest.js'
import { ageText, preview } from './text.js'

/** rows that may be added at once after a quiet time */
const BURST = SHOWN
const calm = matchMedia('(prefers-reduced-motion: reduce)')
const TICK_MS = 500
const CALM_TICK_MS = 2000
/** rows per tick when there are more than can be shown */
const SAMPLE = 1
/** how long the list does not move after the mouse moved over it */
const POINTED_MS = 4000
/** a reply is sampled once, unless no other arrives in this time */
const NEXT_MS = 1500
const PREVIEW_CHARS = 160
/** a row that changes all the time does not flash */
const FLASH_APART_MS = 3000
const GLIDE_MS = 350
const byId = new Intl.Collator('en', { numeric: true })

/** @typedef {import('./newest.js').Shown} Shown */
/** @typedef {Shown & { row: any, flashedMs: number }} Line */

/**
 * @param {{ onChoose: (id: string) => void, now: () => number, windowMs: () => number, isSeveral: boolean }} parts `now`: the reader's
 *   clock; `windowMs`: older items are not live, 0 = no limit; `isSeveral`: of several feeds, whose windows are not known
 */
export function createList ({ onChoose, now, windowMs, isSeveral }) {
  const body = at('rows')
  const table = body.parentElement
  const rows = createRows({ body, now, isCalm: () => calm.matches })
  const isInUse = watchUse(table, body)
  /** @type {Shown[]} */
  let newest = []
  let isBoard = false
  let isPaused = false
  /** the next items replace all rows, without animation */
  let isFresh = true
  let room = BURST
  let how = ''
  let hasReply = false
  let replyMs = 0
  let takenMs = 0
  let tickMs = 0

  body.addEventListener('click', (/** @type {any} */ { target }) => {
    if (target.matches('button')) onChoose(target.textContent)
  })
  at('pause').addEventListener('click', () => {
    isPaused = !isPaused
    at('pause').setAttribute('aria-pressed', String(isPaused))
  })

  const isLive = (/** @type {Shown} */ { ts }) => windowMs() === 0 || ts >= now() - windowMs()

  /** Takes the newest items into the rows: all on a board, otherwise as many as there is room for. @returns {number} rows added on top */
  function take () {
    const liveItems = newest.filter(isLive)
    const changed = rows.changed(liveItems)
    const atMs = performance.now()
    const fits = isBoard || isFresh || changed.length <= room
    if (!fits && takenMs > replyMs && atMs - replyMs < NEXT_MS) return 0
    takenMs = atMs
    const taken = fits ? changed : changed.slice(0, SAMPLE)
    if (!isBoard) room = fits ? Math.max(0, room - taken.length) : 0
    rows.put(taken, !isFresh)
    const keys = isBoard || isSeveral ? new Set(liveItems.map(keyOf)) : null
    rows.keep((line) => keys ? keys.has(keyOf(line)) : isLive(line))
    return isBoard || isFresh ? 0 : taken.length
  }

  function tick () {
    const atMs = performance.now()
    const isHeld = isPaused || isInUse()
    if (isFresh || atMs - tickMs >= (calm.matches ? CALM_TICK_MS : TICK_MS) - 50) {
      tickMs = atMs
      room = Math.min(BURST, room + SAMPLE)
      if (!isHeld && hasReply) {
        rows.arrange(isBoard, SHOWN, take())
        isFresh = false
      }
    }
    rows.write()
    const isEmpty = rows.size === 0
    at('empty').hidden = !isEmpty || !hasReply
    table.hidden = isEmpty
    table.classList.toggle('board', isBoard)
    at('pause').hidden = isEmpty
    put(at('items-how'), isEmpty ? '' : isPaused ? 'paused' : isHeld ? 'paused while in use' : how)
  }
  setInterval(tick, TICK_MS)

  return {
    /** @param {Shown[]} items newest first @param {boolean} isAll these are all live items */
    show (items, isAll) {
      if (hasReply && isAll !== isBoard) isFresh = true
      newest = items
      isBoard = isAll
      hasReply = true
      replyMs = performance.now()
      if (isFresh) tick()
    },

    /** Whether all live items are shown. */
    get isBoard () { return isBoard },

    /** @param {string} text how the list is updated */
    describe (text) { how = text },

    /** Starts with another feed. */
    clear () {
      newest = []
      rows.clear()
      isFresh = true
      hasReply = false
      room = BURST
      tick()
    }
  }
}

/** @param {any} table @param {any} body @returns {() => boolean} whether the user points at the list, or has focus or a selection in it */
function watchUse (table, body) {
  let pointedMs = -Infinity
  // rows that move below a resting mouse do not count
  table.addEventListener('pointermove', (/** @type {PointerEvent} */ { pointerType, movementX, movementY }) => {
    if (pointerType === 'mouse' && (movementX !== 0 || movementY !== 0)) pointedMs = performance.now()
  })
  table.addEventListener('pointerleave', () => { pointedMs = -Infinity })
  return () => {
    const { activeElement } = document
    const selection = getSelection()
    return performance.now() - pointedMs < POINTED_MS ||
      (body.contains(activeElement) && activeElement?.matches(':focus-visible') === true) ||
      (selection?.isCollapsed === false && body.contains(selection.anchorNode))
  }
}

/**
 * The rows of the list: one for each id, and of several feeds with the name of its feed.
 * @param {{ body: any, now: () => number, isCalm: () => boolean }} parts `body`: of the table; `isCalm`: without animation
 */
function createRows ({ body, now, isCalm }) {
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
