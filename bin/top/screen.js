/**
 * The screen: what is known (`Shown`) and a size become lines, and nothing else happens. In a small terminal is left out from the
 * bottom: items, then nodes, then the rest; the keys keep the last line for as long as there are ten.
 *
 * @typedef {object} Figures what a reader says of a feed; null = not known
 * @property {number} asOf ms since 1970 of the reader's clock
 * @property {string | null} layout
 * @property {number | null} partitions
 * @property {number | null} windowMs
 * @property {boolean} ready
 * @property {string[]} reasons
 * @property {number | null} writers
 * @property {number | null} itemsPerSecond
 * @property {number | null} count of live ids
 * @property {boolean | null} exact
 * @property {number | null} newestTs
 * @property {import('./nodes.js').Node[]} nodes
 * @property {import('./blocks.js').Sample[]} history oldest first
 *
 * @typedef {{ id: string, ts: number, value: string | Uint8Array }} Item
 *
 * @typedef {object} Shown
 * @property {string} url of the reader
 * @property {number} now ms since 1970 of the reader's clock
 * @property {string | null} feed
 * @property {string[]} feeds that can be chosen
 * @property {Figures | null} figures
 * @property {string[]} troubles sentences about what does not work
 * @property {Item[]} items newest first
 * @property {string | null} itemsTrouble why they stand still
 * @property {boolean} isPaused
 * @property {string | null} typed an id that is being typed
 * @property {{ id: string, item: Item | null, trouble: string | null } | null} found what was looked for; without item and trouble it is being asked for
 */
import { chart, largeText } from './blocks.js'
import { ageText, clockText, numberText, rateText, spanText, UNKNOWN, windowText } from './figures.js'
import { flow, lineOf, wrapped } from './lines.js'
import { nodesOf } from './nodes.js'
import { fit, valueText, visible, widthOf } from './text.js'

/** @typedef {import('./lines.js').Span} Span */
/** @typedef {{ columns: number, rows: number }} Size */

const ROWS_FOR_KEYS = 10
const ROWS_FOR_SPACE = 18
/** a chart that is narrower says little */
const CHART_COLUMNS = 20
/** of large digits, up to 999,999: the chart beside them stays where it is */
const RATE_CELLS = 25
const CAPTION_CELLS = 'last 9.9 min, up to 9,999,999'.length
const GAP = '   '
const AGE_CELLS = 8

/**
 * @param {Shown} shown
 * @param {Size & import('./lines.js').Means} terminal
 * @returns {string[]} at most `rows` lines of at most `columns` cells
 */
export function drawScreen (shown, { columns, rows, ...means }) {
  const isRoomy = rows >= ROWS_FOR_SPACE
  const keys = rows >= ROWS_FOR_KEYS || shown.typed !== null ? [keysOf(shown)] : []
  const parts = [[...titleOf(shown, columns), ...troublesOf(shown, columns)], ...partsOf(shown, { columns, rows, isRoomy })]
  const above = parts.filter((part) => part.length).flatMap((part, i) => isRoomy && i > 0 ? [[], ...part] : part)
  const room = rows - keys.length
  const items = itemsOf(shown, { columns, rows: room - above.length - (isRoomy ? 1 : 0) })
  const body = [...above, ...(items.length && isRoomy ? [[], ...items] : items)].slice(0, room)
  const space = keys.length ? Array.from({ length: room - body.length }, () => /** @type {Span[]} */ ([])) : []
  return [...body, ...space, ...keys].map((spans) => lineOf(spans, columns, means))
}

/**
 * The same as plain text, as long as it is.
 * @param {Shown} shown
 * @param {{ columns: number, items: number }} size `items`: so many of the newest
 * @returns {string[]}
 */
export function drawText (shown, { columns, items }) {
  const parts = [[...titleOf(shown, columns), ...troublesOf(shown, columns)], ...partsOf(shown, { columns, rows: Infinity, isRoomy: false }), itemsOf(shown, { columns, rows: items + 1 })]
  return parts.filter((part) => part.length).flatMap((part, i) => i > 0 ? [[], ...part] : part)
    .map((spans) => lineOf(spans, columns, { color: false, jumps: false }))
}

/** What stands between title and items. @param {Shown} shown @param {Size & { isRoomy: boolean }} size @returns {Span[][][]} */
const partsOf = ({ figures, items, found, now }, { columns, rows, isRoomy }) => figures === null
  ? []
  : [rateOf(figures, { columns, now, isLarge: isRoomy }), stateOf({ ...figures, newestTs: newestOf(figures, items) }, now, columns), foundOf(found, now, columns), nodesOf(figures.nodes, { columns, rows: rows / 3 })]

/** What was pushed may be newer than what was asked. @param {Figures} figures @param {Item[]} items */
const newestOf = ({ newestTs }, [first]) => newestTs === null || first === undefined ? newestTs : Math.max(newestTs, first.ts)

/** @param {Shown} shown @param {number} columns @returns {Span[][]} */
function titleOf ({ url, now, feed, figures, isPaused }, columns) {
  const engine = figures?.nodes.find((node) => node.engine !== null)?.engine
  const facts = figures === null ? [] : [`layout ${figures.layout ?? 'not known'}`, ...partitionsOf(figures), engine ?? 'engine not known', ...(figures.windowMs === null ? [] : [windowText(figures.windowMs)])]
  const right = clockText(now) + (isPaused ? ' paused' : '')
  /** @type {Span[]} */
  const spans = [['bold', feed ?? 'no feed'], ...facts.map((fact) => `  ${fact}`), ['dim', `  ${url}`]]
  /** @type {Span[]} */
  const fitting = []
  let used = 0
  for (const span of spans) {
    const cells = widthOf(typeof span === 'string' ? span : span[1])
    if (used > 0 && used + cells + 2 + right.length > columns) continue
    fitting.push(span)
    used += cells
  }
  return [[...fitting, ' '.repeat(Math.max(2, columns - used - right.length)), [isPaused ? 'inverse' : 'dim', right]]]
}

/** @param {Figures} figures @returns {string[]} where they are more than the usual one */
const partitionsOf = ({ partitions }) => partitions !== null && partitions > 1 ? [`${partitions} partitions`] : []

/** @param {import('./lines.js').Style} style @param {string} text @param {number} columns @returns {Span[][]} */
const said = (style, text, columns) => wrapped(text, columns).map((line) => [[style, line]])

/** @param {Shown} shown @param {number} columns @returns {Span[][]} */
const troublesOf = ({ troubles, figures }, columns) => [
  ...troubles,
  ...(figures === null || figures.ready ? [] : figures.reasons.map((reason) => `not ready: ${reason}`))
].flatMap((trouble) => said('red', trouble, columns))

/** @param {Figures} figures @param {{ columns: number, now: number, isLarge: boolean }} how @returns {Span[][]} */
function rateOf ({ itemsPerSecond, history }, { columns, now, isLarge }) {
  const text = rateText(itemsPerSecond)
  const drawn = (/** @type {number} */ cells, /** @type {number} */ lines) => chart(history, { columns: cells, rows: lines, now })
  const caption = (/** @type {ReturnType<typeof chart>} */ { spanMs, largest }) => `last ${spanMs < 120_000 ? `${spanMs / 1000} s` : `${numberText(spanMs / 60_000, 1)} min`}, up to ${rateText(largest)}`
  if (isLarge) {
    const large = largeText(text)
    const left = Math.max(large[0].length, RATE_CELLS)
    const room = columns - left - GAP.length
    if (room >= CHART_COLUMNS) {
      const bars = drawn(room, large.length)
      return [
        ...large.map((line, y) => /** @type {Span[]} */ ([['bold', fit(line, left)], GAP, ['cyan', bars.lines[y]]])),
        [fit('items/s', left), GAP, ['dim', fit(caption(bars), room)]]
      ]
    }
  }
  const words = `${text} items/s`.padEnd('999,999 items/s'.length)
  const room = columns - words.length - 2 * GAP.length - CAPTION_CELLS
  if (room < CHART_COLUMNS) return [[['bold', words], GAP, ['cyan', drawn(Math.max(1, columns - words.length - GAP.length), 1).lines[0]]]]
  const bars = drawn(room, 1)
  return [[['bold', words], GAP, ['cyan', bars.lines[0]], GAP, ['dim', caption(bars)]]]
}

/** @param {Figures} figures @param {number} now @param {number} columns @returns {Span[][]} */
function stateOf ({ count, exact, newestTs, writers, nodes }, now, columns) {
  const lags = nodes.flatMap(({ lagMs }) => lagMs ?? [])
  const replicas = nodes.filter(({ role }) => role === 'replica').length
  const lag = replicas === 0 ? 'no replica' : lags.length ? spanText(Math.max(...lags)) : UNKNOWN
  /** @type {[string, string][]} */
  const figures = [
    ['live ids', count !== null && exact === false ? `about ${numberText(count)}` : numberText(count)],
    ['newest', newestTs === null ? (count === 0 ? 'none' : UNKNOWN) : ageText(newestTs, now, ' ago')],
    ['writers', numberText(writers)],
    ['lag', lag]
  ]
  return flow(figures.map(([name, value]) => [['dim', `${name} `], ['bold', value]]), columns, GAP)
}

/** @param {Shown['found']} found @param {number} now @param {number} columns @returns {Span[][]} */
function foundOf (found, now, columns) {
  if (found === null) return []
  const { id, item, trouble } = found
  if (item === null) return [[`looking for ${visible(id)}: `, trouble === null ? '...' : ['yellow', trouble]]]
  return [[['bold', id], `  ${ageText(item.ts, now, ' old')}  `, valueText(item.value, columns)]]
}

/** @param {Shown} shown @param {{ columns: number, rows: number }} size @returns {Span[][]} */
function itemsOf ({ items, itemsTrouble, figures, feed, now }, { columns, rows }) {
  if (feed === null || rows < 2) return []
  const windowMs = figures?.windowMs ?? 0
  const live = windowMs === 0 ? items : items.filter(({ ts }) => ts > now - windowMs)
  const trouble = itemsTrouble === null ? [] : said('yellow', itemsTrouble, columns)
  const shown = live.slice(0, Math.max(0, rows - 1 - trouble.length))
  const idCells = Math.min(Math.max(2, ...shown.map(({ id }) => widthOf(visible(id)))), Math.floor((columns - AGE_CELLS) / 3))
  return [
    ...trouble,
    [['dim', `${fit('age', AGE_CELLS, 'right')}  ${fit('id', idCells)}  value`]],
    ...shown.map(({ id, ts, value }) => /** @type {Span[]} */ ([fit(ageText(ts, now), AGE_CELLS, 'right'), '  ', ['cyan', fit(visible(id), idCells)], '  ', valueText(value, columns)]))
  ]
}

/** @param {Shown} shown @returns {Span[]} */
function keysOf ({ typed, feed, feeds, isPaused, found }) {
  if (typed !== null) return [['inverse', ` id: ${visible(typed)} `], '  Enter looks for it, Esc leaves']
  const at = feed === null ? -1 : feeds.indexOf(feed)
  const keys = [['q', 'quit'], ...(feeds.length > 1 ? [['← →', `feed ${at + 1} of ${feeds.length}`]] : []), ['p', isPaused ? 'go on' : 'pause'], ['/', 'look for an id'], ...(found ? [['Esc', 'leave it']] : [])]
  return keys.flatMap(([key, what]) => /** @type {Span[]} */ ([['inverse', ` ${key} `], ` ${what}  `]))
}
