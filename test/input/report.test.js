import t from 'tap'
import { createFaultReport } from '../../writers/input/report.js'

const reportOf = (places, options = {}) => {
  let written = ''
  const report = createFaultReport({ ...options, write: (text) => { written += text } })
  for (const place of places) report.add(place, 'not a JSON object')
  report.close()
  report.close()
  return { count: report.count, written }
}

t.test('the first faults are written with place and reason, the others as a number', async (t) => {
  t.same(reportOf([7, 9, 12, 13, 14], { show: 2 }),
    { count: 5, written: 'line 7: not a JSON object\nline 9: not a JSON object\nand 3 more bad lines\n' })
  t.same(reportOf([7, 9, 12], { show: 2, noun: 'item' }),
    { count: 3, written: 'item 7: not a JSON object\nitem 9: not a JSON object\nand 1 more bad item\n' })
})

t.test('the default is five, without a number if there are no more', async (t) => {
  t.equal(reportOf([1, 2, 3, 4, 5]).written.split('\n').length, 6)
  t.same(reportOf([]), { count: 0, written: '' })
})

t.test('a reason cannot break the line or control the terminal', async (t) => {
  let written = ''
  createFaultReport({ write: (text) => { written += text } }).add(1, 'a\nb\u001b[2J\u009bc\u202ed')
  t.equal(written, 'line 1: a␊b␛[2J\ufffdc\ufffdd\n')
})
