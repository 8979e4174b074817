/**
 * The list of newest items: a board of all of them, by id, where they fit in, and otherwise the newest on top. Nobody can
 * read ten thousand lines a second: of a fast feed some come in at a walking pace, and the list says so. It holds still
 * while it is paused, pointed at, or has the focus.
 */
import { at, make, put } from './elements.js'
import { SHOWN } from './newest.js'
import { ageText, preview } from './text.js'

const PREVIEW_CHARS = 160
/** lines that may come in at once, when few came before */
const BURST = SHOWN
const calm = matchMedia('(prefers-reduced-motion: reduce)')
const TICK_MS = 500
const CALM_TICK_MS = 2000
/** of those that do not fit in, the newest */
const LINES_A_TICK = 1
/** a line that changes all the time does not flash */
const FLASH_APART_MS = 3000
const GLIDE_MS = 350
/** so long after the mouse moved */
const POINTED_MS = 4000
/** what was shown of the last answer is not added to, unless no other comes */
const NEXT_MS = 1500
const byId = new Intl.Collator('en', { numeric: true })

/** @typedef {import('./newest.js').Shown} Shown */
/** @typedef {Shown & { row: any, flashedMs: number }} Line */

/**
 * @param {{ onChoose: (id: string) => void, now: () => number, windowMs: () => number }} parts `now`: the reader's clock;
 *   `windowMs`: older items are not live, 0 = all are
 */
export function createList ({ onChoose, now, windowMs }) {
  const body = at('rows')
  /** @type {Map<string, Line>} */
  const lines = new Map()
  /** @type {Shown[]} */
  let newest = []
  let isBoard = false
  let isPaused = false
  let pointedMs = -Infinity
  let isFresh = true
  let room = BURST
  let how = ''
  let told = false
  let toldMs = 0
  let takenMs = 0

  const table = body.parentElement
  // lines that move below a mouse that rests are no pointing
  table.addEventListener('pointermove', (/** @type {PointerEvent} */ { pointerType, movementX, movementY }) => {
    if (pointerType === 'mouse' && (movementX !== 0 || movementY !== 0)) pointedMs = performance.now()
  })
  table.addEventListener('pointerleave', () => { pointedMs = -Infinity })
  body.addEventListener('click', (/** @type {any} */ { target }) => {
    if (target.matches('button')) onChoose(target.textContent)
  })
  at('pause').addEventListener('click', () => {
    isPaused = !isPaused
    at('pause').setAttribute('aria-pressed', String(isPaused))
  })

  const isLive = (/** @type {Shown} */ { ts }) => windowMs() === 0 || ts >= now() - windowMs()

  /** @param {Shown} item @returns {Line} */
  function createLine (item) {
    const row = make('tr', {}, make('td', {}, make('button', { type: 'button', className: 'id', title: 'Show this item and follow it' })), make('td'), make('td'))
    row.addEventListener('animationend', () => row.classList.remove('new'))
    return { ...item, row, flashedMs: -Infinity }
  }

  /** @param {Line} line */
  function write ({ id, ts, value, isBytes, row }) {
    const [first, age, last] = row.cells
    put(first.firstChild, id)
    put(age, ageText(now() - ts))
    put(last, preview(value, PREVIEW_CHARS))
    last.classList.toggle('bytes', isBytes)
  }

  /** @param {Line} line @param {number} atMs */
  function flash (line, atMs) {
    if (isFresh || atMs - line.flashedMs < FLASH_APART_MS) return
    line.flashedMs = atMs
    line.row.classList.add('new')
  }

  /** Takes over what is newest: all of it on a board, some lines of it otherwise. @returns {number} lines that came in on top */
  function take () {
    const wanted = newest.filter(isLive)
    const changed = wanted.filter(({ id, ts, value }) => {
      const line = lines.get(id)
      return line === undefined || line.ts !== ts || (typeof value === 'string' && line.value !== value)
    })
    const atMs = performance.now()
    const fit = isBoard || isFresh || changed.length <= room
    if (!fit && takenMs > toldMs && atMs - toldMs < NEXT_MS) return 0
    takenMs = atMs
    const taken = fit ? changed : changed.slice(0, LINES_A_TICK)
    if (!isBoard) room = fit ? Math.max(0, room - taken.length) : 0
    for (const item of taken) {
      const line = Object.assign(lines.get(item.id) ?? createLine(item), item)
      lines.set(item.id, line)
      flash(line, atMs)
    }
    const known = isBoard ? new Set(wanted.map(({ id }) => id)) : null
    for (const [id, line] of lines) if (known ? !known.has(id) : !isLive(line)) lines.delete(id)
    return isBoard || isFresh ? 0 : taken.length
  }

  /** @param {number} came */
  function arrange (came) {
    const sorted = [...lines.values()].sort(isBoard ? (a, b) => byId.compare(a.id, b.id) : (a, b) => b.ts - a.ts)
    for (const { id } of sorted.splice(SHOWN)) lines.delete(id)
    const rows = sorted.map(({ row }) => row)
    for (const row of [...body.rows]) if (!rows.includes(row)) row.remove()
    rows.forEach((row, index) => { if (body.rows[index] !== row) body.insertBefore(row, body.rows[index] ?? null) })
    if (came > 0 && !calm.matches && rows.length > came) {
      const height = rows[0].offsetHeight * came
      body.animate([{ transform: `translateY(${-height}px)` }, { transform: 'none' }], { duration: GLIDE_MS, easing: 'ease-out' })
    }
  }

  /** Somebody is about to take a line, or has it. @param {number} atMs */
  function isInUse (atMs) {
    const { activeElement } = document
    const selection = getSelection()
    return atMs - pointedMs < POINTED_MS || (body.contains(activeElement) && activeElement?.matches(':focus-visible')) ||
      (selection?.isCollapsed === false && body.contains(selection.anchorNode))
  }

  let sinceMs = 0
  function tick () {
    const atMs = performance.now()
    const isHeld = isPaused || isInUse(atMs)
    if (atMs - sinceMs >= (calm.matches ? CALM_TICK_MS : TICK_MS) - 50 || isFresh) {
      sinceMs = atMs
      room = Math.min(BURST, room + LINES_A_TICK)
      if (!isHeld && told) {
        arrange(take())
        isFresh = false
      }
    }
    for (const line of lines.values()) write(line)
    at('empty').hidden = lines.size > 0 || !told
    table.hidden = lines.size === 0
    table.classList.toggle('board', isBoard)
    at('pause').hidden = lines.size === 0
    put(at('items-how'), lines.size === 0 ? '' : isPaused ? 'paused' : isHeld ? 'holds still while you use it' : how)
  }
  setInterval(tick, TICK_MS)

  return {
    /** What is newest now. @param {Shown[]} items newest first @param {boolean} isAll these are all there are */
    show (items, isAll) {
      if (told && isAll !== isBoard) isFresh = true
      newest = items
      isBoard = isAll
      told = true
      toldMs = performance.now()
      if (isFresh) tick()
    },

    /** All of them are shown, not only the newest. */
    get isBoard () { return isBoard },

    /** @param {string} text how lines come in */
    describe (text) { how = text },

    /** Of another feed. */
    clear () {
      newest = []
      lines.clear()
      body.replaceChildren()
      isFresh = true
      told = false
      room = BURST
      tick()
    }
  }
}
