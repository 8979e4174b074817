import t from 'tap'
import { draw } from '../../charts/draw.js'
import { widthOf, wrap } from '../../charts/text.js'

const ROW = {
  level: '50 k items/s',
  x: null,
  role: 'arm',
  mid: 2,
  low: 1.9,
  high: 2.2,
  published: null,
  value: '2.00',
  ratio: '0.58 x [0.55-0.61]',
  mark: ''
}

const row = (arm, mid, more = {}) => ({
  ...ROW,
  arm,
  mid,
  low: mid === null ? null : mid * 0.95,
  high: mid === null ? null : mid * 1.06,
  value: mid === null ? '' : String(mid),
  ...more
})

/** @param {any[]} rows @param {{}} [more] @returns {import('../../charts/draw.js').Drawing} */
const drawing = (rows, more = {}) => ({
  kind: 'bars',
  title: 'values costs 0.58 x ids [0.55-0.61]',
  subtitle: 'Does it cost less to keep values inside the sorted set?',
  axis: 'Primary CPU time per item, µs',
  columns: { value: 'median', ratio: 'ratio to ids' },
  interval: 'median of the rounds and its 95 % interval',
  published: 'published ratio, applied to our figure',
  notes: [],
  caption: ['valkey 9.1.2, a machine, 2 cores, Node.js 20.20.2, commit 68121d0c2a, 128-byte values, 2026-07-30, 5 rounds of 6 s'],
  rows,
  ...more
})

const ARMS = ['ids', 'values', 'reference', 'list', 'ids (A/A)', 'blob (ceiling)']
const ROLES = { ids: 'baseline', 'ids (A/A)': 'repeat', 'blob (ceiling)': 'ceiling' }
const LEVELS = [10, 20, 30, 50]

const bars = drawing(['10 k items/s', '50 k items/s'].flatMap((level) =>
  ARMS.map((arm, i) => row(arm, 1 + i, { level, role: ROLES[arm] ?? 'arm', published: arm === 'values' ? 1.6 : null }))))
const lines = drawing(LEVELS.flatMap((x) => ARMS.filter((arm) => arm !== 'ids (A/A)').map((arm, i) => row(arm, 1 + i + 10 / x,
  { x, level: `${x} k items/s`, role: ROLES[arm] ?? 'arm', published: arm === 'values' ? 1.6 : null }))), { kind: 'lines' })

const drawn = { bars: await draw(bars), lines: await draw(lines) }

/** Texts of an SVG, lines of one text joined. */
function textsOf (svg) {
  const plain = (text) => text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
  return [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/gs)].map(([, inner]) =>
    plain(inner.replace(/<\/tspan><tspan[^>]*>/g, ' ').replace(/<[^>]*>/g, '')))
}

const errorBars = (svg) => [...svg.matchAll(/<line [^>]*aria-roledescription="errorbar"/g)].length

/** What is wrong with it as XML: tags that do not balance, signs that stand bare. */
function faultsOf (svg) {
  const open = []
  const faults = []
  const rest = svg.replace(/<(\/?)([A-Za-z][\w:-]*)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>/g, (_, closes, name, _attributes, empty) => {
    if (closes && open.pop() !== name) faults.push(`</${name}> closes what is not open`)
    else if (!closes && !empty) open.push(name)
    return ''
  })
  if (open.length) faults.push(`not closed: ${open.join(', ')}`)
  if (/[<>]/.test(rest)) faults.push('a bare angle bracket')
  if (/&(?!(amp|lt|gt|quot|apos|#\d+);)/.test(svg)) faults.push('a bare ampersand')
  if (!svg.startsWith('<svg ') || !svg.includes('xmlns="http://www.w3.org/2000/svg"')) faults.push('no SVG')
  return faults
}

for (const [kind, one] of Object.entries({ bars, lines })) {
  t.test(`${kind}: an SVG with finding, conditions, units, every arm by name and an error bar for each figure`, async (t) => {
    const svg = drawn[kind]
    t.same(faultsOf(svg), [])
    const texts = textsOf(svg)
    const all = texts.join('\n')
    for (const text of [one.title, one.subtitle, one.axis, one.interval, one.published]) t.ok(all.includes(text), text)
    t.ok(all.includes(one.caption[0]), 'conditions')
    for (const { arm, level } of one.rows) {
      t.ok(texts.some((text) => text === arm || text.startsWith(`${arm}: `)), arm)
      t.ok(texts.includes(level), level)
    }
    t.equal(errorBars(svg), one.rows.length, 'error bars')
    const [, width] = /width="([\d.]+)"/.exec(svg) ?? []
    t.ok(Number(width) > 700 && Number(width) < 820, `as wide as a README: ${width}`)
    t.match(svg, `<title>${one.title}</title>`)
  })
}

t.test('the same drawing gives the same bytes, alone or among others', async (t) => {
  t.same(await Promise.all([draw(lines), draw(bars), draw(lines)]), [drawn.lines, drawn.bars, drawn.lines])
})

t.test('lines differ by shape and dashes, not by colour alone', async (t) => {
  const dashes = [...drawn.lines.matchAll(/mark-line role-mark[^>]*><path[^>]*stroke-dasharray="([^"]*)"/g)].map(([, dash]) => dash)
  t.equal(dashes.length, 5)
  t.equal(new Set(dashes).size, 5)
})

t.test('an arm without a figure says why, in its place', async (t) => {
  const why = 'INVALID in 5 of 5 rounds: 12 items are missing'
  const invalid = row('drops', null, { mark: why, ratio: '' })
  for (const one of [drawing([row('ids', 2), invalid]),
    drawing([{ ...row('ids', 2), x: 1 }, { ...row('ids', 2), x: 2 }, { ...invalid, x: 1 }, { ...invalid, x: 2 }], { kind: 'lines' })]) {
    const svg = await draw(one)
    t.same(faultsOf(svg), [])
    t.match(textsOf(svg).join('\n'), /INVALID in 5 of 5 rounds: 12 items are missing/)
  }
  const ends = [1, 2]
    .map((x) => ({ ...row('drops', x === 1 ? 2 : null, { x, level: `${x} k`, mark: x === 1 ? '' : 'INVALID in 5 of 5 rounds' }) }))
  t.match(textsOf(await draw(drawing([...ends.map((one) => row('ids', 3, { x: one.x, level: one.level })), ...ends], { kind: 'lines' })))
    .join('\n'), /drops: 2 at 1 k INVALID in 5 of 5\s+rounds at 2 k/)
  const nothing = await draw(drawing([invalid]))
  t.match(textsOf(nothing).join('\n'), why)
  t.equal(errorBars(nothing), 0)
})

t.test('signs in names stay text', async (t) => {
  const svg = await draw(drawing([row('a < b & "c"', 2), row('</svg>', 3)], { title: 'a < b & c' }))
  t.same(faultsOf(svg), [])
  t.ok(textsOf(svg).includes('a < b & "c"'))
})

t.test('long titles and names are broken, not cut off', async (t) => {
  const name = 'one SETEX promise per item and one ZADD per 1,000, auto-pipelined'
  const title = `${name} costs 1.63 x values inside the sorted set, with values that change at every write, and that is not all of it`
  const svg = await draw(drawing([row(name, 2), row('x'.repeat(60), 1)], { title }))
  t.same(faultsOf(svg), [])
  const texts = textsOf(svg)
  t.ok(texts.includes(title), 'whole')
  t.ok(texts.includes(name))
  t.notMatch(svg, '…')
})

t.test('far apart: lines on a logarithmic axis, levels of bars on axes of their own, and both say so', async (t) => {
  const far = drawing([1, 1000].flatMap((x) =>
    [row('ids', 80 / x, { x, level: `${x} a batch` }), row('values', 6, { x, level: `${x} a batch` })]), { kind: 'lines' })
  t.match(textsOf(await draw(far)).join('\n'), /\(logarithmic axis\)/)
  t.notMatch(textsOf(drawn.lines).join('\n'), /logarithmic/)
  const own = drawing([row('ids', 2, { level: 'a' }), row('ids', 80, { level: 'b' })])
  t.match(textsOf(await draw(own)).join('\n'), /each level has its own axis/)
  t.notMatch(textsOf(drawn.bars).join('\n'), /has its own axis/)
})

t.test('a drawing without rows is refused', async (t) => {
  await t.rejects(draw(drawing([])), { message: /has no rows/ })
})

t.test('lines of text are as wide as asked for at most, and hold everything', async (t) => {
  const style = { size: 12 }
  const text = `some words, a-word-with-hyphens-that-is-longer-than-the-line and ${'x'.repeat(50)}`
  for (const width of [60, 100, 300]) {
    const wrapped = wrap(text, width, style)
    for (const line of wrapped) t.ok(widthOf(line, style) <= width, `${line} is not wider than ${width}`)
    t.equal(wrapped.join('').replaceAll(' ', ''), text.replaceAll(' ', ''))
  }
  t.same(wrap('', 100, style), [''])
  t.ok(widthOf('WWW', style) > widthOf('iii', style))
  t.ok(widthOf('ids', { ...style, bold: true }) > widthOf('ids', style))
})
