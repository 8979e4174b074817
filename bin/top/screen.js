/**
 * The screen: a pure function from the data (`Shown`) and a size to lines. A small terminal loses lines from the bottom: items,
 * then nodes, then the rest; the keys keep the last line of at least ten.
 *
 * @typedef {object} Figures the reader's figures of a feed; null = unknown
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
 * @property {string[]} feeds to choose from
 * @property {Figures | null} figures
 * @property {string[]} troubles messages
 * @property {Item[]} items newest first
 * @property {string | null} itemsTrouble why they are not updated
 * @property {boolean} isPaused
 * @property {string | null} typed the id being typed
 * @property {{ id: string, item: Item | null, trouble: string | null } | null} found an id that is looked up; without item and
 *   trouble there is no reply yet
 */
import { visible } from '../../src/runtime/index.js'
import { ageText, clockText, numberText, spanText, UNKNOWN, windowText } from './figures.js'
import { flow, lineOf, wrapped } from './lines.js'
import { nodesOf } from './nodes.js'
import { rateOf } from './rate.js'
import { fit, valueText, widthOf } from './text.js'

/** @typedef {import('./lines.js').Span} Span */
/** @typedef {{ columns: number, rows: number }} Size */

const ROWS_FOR_KEYS = 10
const ROWS_FOR_SPACE = 18
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
 * The same as plain text of any length.
 * @param {Shown} shown
 * @param {{ columns: number, items: number }} size `items`: maximum number of items
 * @returns {string[]}
 */
export function drawText (shown, { columns, items }) {
  const parts = [
    [...titleOf(shown, columns), ...troublesOf(shown, columns)],
    ...partsOf(shown, { columns, rows: Infinity, isRoomy: false }),
    itemsOf(shown, { columns, rows: items + 1 })
  ]
  return parts.filter((part) => part.length).flatMap((part, i) => i > 0 ? [[], ...part] : part)
    .map((spans) => lineOf(spans, columns, { color: false, jumps: false }))
}

/** The parts between title and items. @param {Shown} shown @param {Size & { isRoomy: boolean }} size @returns {Span[][][]} */
function partsOf ({ figures, items, found, now }, { columns, rows, isRoomy }) {
  if (figures === null) return []
  return [
    rateOf(figures, { columns, now, isLarge: isRoomy }),
    stateOf({ ...figures, newestTs: newestOf(figures, items) }, now, columns),
    foundOf(found, now, columns),
    nodesOf(figures.nodes, { columns, rows: rows / 3 })
  ]
}

/** An item of the stream may be newer than the figures. @param {Figures} figures @param {Item[]} items */
const newestOf = ({ newestTs }, [first]) => newestTs === null || first === undefined ? newestTs : Math.max(newestTs, first.ts)

/** @param {Shown} shown @param {number} columns @returns {Span[][]} */
function titleOf ({ url, now, feed, figures, isPaused }, columns) {
  const engine = figures?.nodes.find((node) => node.engine !== null)?.engine
  const facts = figures === null ? [] : [`layout ${figures.layout ?? 'unknown'}`, ...partitionsOf(figures), engine ?? 'engine unknown']
  if (figures !== null && figures.windowMs !== null) facts.push(windowText(figures.windowMs))
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

/** @param {Figures} figures @returns {string[]} nothing for one partition */
const partitionsOf = ({ partitions }) => partitions !== null && partitions > 1 ? [`${partitions} partitions`] : []

/** @param {import('./lines.js').Style} style @param {string} text @param {number} columns @returns {Span[][]} */
const message = (style, text, columns) => wrapped(text, columns).map((line) => [[style, line]])

/** @param {Shown} shown @param {number} columns @returns {Span[][]} */
const troublesOf = ({ troubles, figures }, columns) => [
  ...troubles,
  ...(figures === null || figures.ready ? [] : figures.reasons.map((reason) => `not ready: ${reason}`))
].flatMap((trouble) => message('red', trouble, columns))

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
  const trouble = itemsTrouble === null ? [] : message('yellow', itemsTrouble, columns)
  const shown = live.slice(0, Math.max(0, rows - 1 - trouble.length))
  const idCells = Math.min(Math.max(2, ...shown.map(({ id }) => widthOf(visible(id)))), Math.floor((columns - AGE_CELLS) / 3))
  return [
    ...trouble,
    [['dim', `${fit('age', AGE_CELLS, 'right')}  ${fit('id', idCells)}  value`]],
    ...shown.map(({ id, ts, value }) => /** @type {Span[]} */ ([
      fit(ageText(ts, now), AGE_CELLS, 'right'), '  ', ['cyan', fit(visible(id), idCells)], '  ', valueText(value, columns)
    ]))
  ]
}

/** @param {Shown} shown @returns {Span[]} */
function keysOf ({ typed, feed, feeds, isPaused, found }) {
  if (typed !== null) return [['inverse', ` id: ${visible(typed)} `], '  Enter: find, Esc: cancel']
  const at = feed === null ? -1 : feeds.indexOf(feed)
  const keys = [
    ['q', 'quit'],
    ...(feeds.length > 1 ? [['← →', `feed ${at + 1} of ${feeds.length}`]] : []),
    ['p', isPaused ? 'resume' : 'pause'],
    ['/', 'find an id'],
    ...(found ? [['Esc', 'close']] : [])
  ]
  return keys.flatMap(([key, what]) => /** @type {Span[]} */ ([['inverse', ` ${key} `], ` ${what}  `]))
}
