import t from 'tap'
import { bar, chart, largeText } from '../../../bin/top/blocks.js'
import { history, NOW } from './shown.js'

t.test('large digits', async (t) => {
  t.same(largeText('10,234').map((line) => line.trimEnd()), [
    '▄█  █▀█   ▀▀█ ▀▀█ █ █',
    ' █  █ █ ▄ █▀▀ ▀▀█ ▀▀█',
    '▀▀▀ ▀▀▀ ▀ ▀▀▀ ▀▀▀   ▀'
  ])
  for (const text of ['0123456789', '12.5', '–']) {
    const widths = largeText(text).map((line) => line.length)
    t.equal(new Set(widths).size, 1, text)
  }
})

t.test('a bar has eighths of a cell and a maximum length', async (t) => {
  t.same([0, 0.125, 0.5, 1, 7, -1].map((share) => bar(share, 4)), ['', '▌', '██', '████', '████', ''])
})

t.test('a chart has a column per second, the newest at the right', async (t) => {
  const samples = history(8, (second) => second)
  t.same(chart(samples, { columns: 10, rows: 1, now: NOW }), { lines: ['  _▁▂▃▅▆▇█'], spanMs: 10_000, largest: 7 })
  t.same(chart(samples, { columns: 8, rows: 2, now: NOW }).lines, ['    ▁▃▆█', '_▂▅▇████'])
})

t.test('with more seconds than columns, a column is a mean', async (t) => {
  const samples = history(20, (second) => second < 10 ? 4 : 8)
  t.same(chart(samples, { columns: 10, rows: 1, now: NOW }), { lines: ['▄▄▄▄▆█████'], spanMs: 20_000, largest: 8 })
})

t.test('unknown values are blank, zero is not, and a late sample leaves no gap', async (t) => {
  t.same(chart(history(6, (second) => [null, 0, 5, null, 5, 0][second]), { columns: 6, rows: 1, now: NOW }).lines, [' _█ █_'])
  t.same(chart([{ at: NOW - 3000, itemsPerSecond: 5 }, { at: NOW, itemsPerSecond: 5 }], { columns: 6, rows: 1, now: NOW }).lines,
    ['  ████'])
  t.same(chart([{ at: NOW - 5000, itemsPerSecond: 5 }, { at: NOW, itemsPerSecond: 5 }], { columns: 6, rows: 1, now: NOW }).lines,
    ['█    █'])
})

t.test('the chart moves on without samples', async (t) => {
  const samples = history(3, () => 5)
  t.same(chart(samples, { columns: 10, rows: 1, now: NOW + 2000 }).lines, ['       ███'])
  t.same(chart(samples, { columns: 10, rows: 1, now: NOW + 6000 }).lines, [' ███      '])
  t.same(chart([], { columns: 4, rows: 1, now: NOW }), { lines: ['    '], spanMs: 4000, largest: null })
})
