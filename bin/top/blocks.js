/** Drawing with block characters (U+2580-U+259F): charts of bars, shares, large digits. */

/** @typedef {{ at: number, itemsPerSecond: number | null }} Sample `at`: ms since 1970 */

const UP = ' ▁▂▃▄▅▆▇█'
const ACROSS = ' ▏▎▍▌▋▊▉█'
/** samples further apart have a gap between them */
const GAP_MS = 5000

/** 3 x 5 pixels, a word for each row */
const DIGITS = /** @type {Record<string, string>} */ ({
  0: '### #.# #.# #.# ###',
  1: '.#. ##. .#. .#. ###',
  2: '### ..# ### #.. ###',
  3: '### ..# ### ..# ###',
  4: '#.# #.# ### ..# ..#',
  5: '### #.. ### ..# ###',
  6: '### #.. ### #.# ###',
  7: '### ..# ..# ..# ..#',
  8: '### #.# ### #.# ###',
  9: '### #.# ### ..# ###',
  ',': '. . . # #',
  '.': '. . . . #',
  '–': '... ... ### ... ...'
})

/** @param {string} text of digits @returns {string[]} three lines */
export function largeText (text) {
  const glyphs = [...text].map((one) => DIGITS[one].split(' '))
  return [0, 2, 4].map((top) => glyphs.map((glyph) => [...glyph[top]].map((upper, x) => {
    const lower = glyph[top + 1]?.[x] ?? '.'
    return upper === '#' ? (lower === '#' ? '█' : '▀') : lower === '#' ? '▄' : ' '
  }).join('')).join(' '))
}

/** @param {number} share 0 to 1 @param {number} cells @returns {string} a horizontal bar */
export function bar (share, cells) {
  const eighths = Math.round(Math.min(1, Math.max(0, share)) * cells * 8)
  return '█'.repeat(Math.floor(eighths / 8)) + (eighths % 8 ? ACROSS[eighths % 8] : '')
}

/**
 * Bars from zero to the largest sample, the newest at the right. A column is a second, or the mean of several if there are more
 * seconds than columns. Unknown values are blank; zero is a line at the bottom.
 * @param {Sample[]} samples oldest first
 * @param {{ columns: number, rows: number, now: number }} size
 * @returns {{ lines: string[], spanMs: number, largest: number | null }} `spanMs`: time that the columns span
 */
export function chart (samples, { columns, rows, now }) {
  const last = samples.at(-1)?.at ?? now
  const end = now - last < GAP_MS ? last : now
  const seconds = Math.max(1, Math.ceil((end - (samples[0]?.at ?? end) + 1000) / 1000 / columns))
  const columnMs = seconds * 1000
  const endColumn = Math.floor(end / columnMs)
  const buckets = Array.from({ length: columns }, () => /** @type {number[]} */ ([]))
  const columnOf = (/** @type {number} */ at) => columns - 1 - (endColumn - Math.floor(at / columnMs))
  samples.forEach(({ at, itemsPerSecond }, i) => {
    if (itemsPerSecond === null) return
    // a sample covers the time since the one before
    const before = samples[i - 1]?.at ?? -Infinity
    const from = at - before < GAP_MS ? Math.min(columnOf(before) + 1, columnOf(at)) : columnOf(at)
    for (let x = Math.max(0, from); x <= columnOf(at); x++) buckets[x].push(itemsPerSecond)
  })
  const means = buckets.map((bucket) => bucket.length ? bucket.reduce((sum, one) => sum + one) / bucket.length : null)
  const known = buckets.flat()
  const largest = known.length ? Math.max(...known) : null
  const most = /** @type {number} */ (largest)
  const eighths = means.map((mean) => mean === null ? null : mean === 0 ? 0 : Math.max(1, Math.round(mean / most * rows * 8)))
  const lines = Array.from({ length: rows }, (_, y) => {
    const below = (rows - 1 - y) * 8
    return eighths.map((level) => level === 0 && below === 0 ? '_' : UP[Math.min(8, Math.max(0, (level ?? 0) - below))]).join('')
  })
  return { lines, spanMs: columns * columnMs, largest }
}
