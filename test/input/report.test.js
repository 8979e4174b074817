import { mkdtemp, readFile, symlink, writeFile } from 'node:fs/promises'
import { statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { createFaultReport, openRejects } from '../../writers/input/rejects.js'

const NO_INPUT = { dev: -1, ino: -1 }
const running = new AbortController().signal
const folder = await mkdtemp(join(tmpdir(), 'freshet-report-'))
const entryOf = (place, raw = Buffer.from('raw')) => ({ place, record: null, text: null, raw, fault: null })

/** @param {any[]} faults @param {{ adviceOf?: (code: string) => string, show?: number, noun?: string }} [how] */
async function reportOf (faults, { adviceOf, ...options } = {}) {
  let written = ''
  const report = createFaultReport({ ...options, write: (text) => { written += text } })
  for (const [place, code] of faults) report.add(entryOf(place), code, 'a reason')
  await report.close(adviceOf)
  return written
}

/** What the file has after these reports. */
async function rejected (entries) {
  const path = join(folder, 'rejected')
  const rejects = await openRejects(path, NO_INPUT)
  const report = createFaultReport({ write () {}, rejects })
  for (const entry of entries) report.add(entry, 'INPUT_INVALID', 'a reason')
  await report.close()
  return (await readFile(path, 'utf8')).split('\n').filter(Boolean).map((line) => JSON.parse(line))
}

t.test('the first records of each code are written, and the number of each at the end', async (t) => {
  t.equal(await reportOf([[7, 'A'], [9, 'A'], [12, 'A'], [13, 'B'], [14, 'A']], { show: 2 }), [
    'line 7: A: a reason', 'line 9: A: a reason', 'line 13: B: a reason',
    '4 lines refused: A', '1 line refused: B', '--rejects FILE writes all of them to a file', ''
  ].join('\n'))
  t.equal(await reportOf([[7, 'A']], { noun: 'item', adviceOf: (code) => `do something about ${code}` }),
    'item 7: A: a reason\n1 item refused: A; do something about A\n')
})

t.test('three per code are the default, and without any there is nothing', async (t) => {
  t.equal((await reportOf([1, 2, 3, 4].map((place) => [place, 'A']))).split('\n').length, 3 + 2 + 1)
  t.equal(await reportOf([]), '')
})

t.test('a reason cannot break the line or control the terminal', async (t) => {
  let written = ''
  createFaultReport({ write: (text) => { written += text } }).add(entryOf(1), 'A', 'a\nb\u001b[2J\u009bc\u202ed')
  t.equal(written, 'line 1: A: a␊b␛[2J\ufffdc\ufffdd\n')
})

t.test('the file has every record, with its bytes as text or base64, at most 4,096', async (t) => {
  const facts = { line: 1, code: 'INPUT_INVALID', reason: 'a reason' }
  const long = Buffer.from('x' + 'é'.repeat(4000))
  t.same(await rejected([
    entryOf(1, Buffer.from('{"a":"é\t"}')),
    entryOf(1, Buffer.from([0x61, 0xff])),
    entryOf(1, long),
    entryOf(1, Buffer.from('x'.repeat(4096))),
    entryOf(1, Buffer.concat([Buffer.from([0xff]), long]))
  ]), [
    { ...facts, raw: '{"a":"é\t"}' },
    { ...facts, raw: 'Yf8=', encoding: 'base64' },
    { ...facts, raw: 'x' + 'é'.repeat(2047), truncated: true },
    { ...facts, raw: 'x'.repeat(4096) },
    { ...facts, raw: Buffer.concat([Buffer.from([0xff]), long]).subarray(0, 4096).toString('base64'), encoding: 'base64', truncated: true }
  ])
})

t.test('the file gives back-pressure, and is complete when the report is closed', async (t) => {
  const path = join(folder, 'many')
  const report = createFaultReport({ write () {}, rejects: await openRejects(path, NO_INPUT) })
  let waits = 0
  for (let place = 1; place <= 5000; place++) {
    report.add(entryOf(place, Buffer.alloc(1000, 'x')), 'A', 'a reason')
    if (report.isFull) {
      waits++
      await report.ready(running)
      t.notOk(report.isFull)
    }
  }
  t.ok(waits > 10, `${waits} waits`)
  await report.close()
  t.equal((await readFile(path, 'utf8')).split('\n').length, 5001)
})

t.test('a file that cannot be written, or is the input, is refused and not changed', async (t) => {
  await t.rejects(openRejects(join(folder, 'no', 'such'), NO_INPUT), { code: 'FILE_UNUSABLE', exitStatus: 2, message: /ENOENT/ })
  const input = join(folder, 'input')
  const link = join(folder, 'link')
  await writeFile(input, 'mine')
  await symlink(input, link)
  await t.rejects(openRejects(link, statSync(input)), { code: 'FILE_UNUSABLE', message: /it is the input itself/ })
  t.equal(await readFile(input, 'utf8'), 'mine')
})

t.test('a failure of the file ends the wait and the report', async (t) => {
  const report = createFaultReport({ write () {}, rejects: await openRejects('/dev/full', NO_INPUT) })
  report.add(entryOf(1, Buffer.alloc(4000, 'x')), 'A', 'a reason')
  while (!report.isFull) {
    report.add(entryOf(1, Buffer.alloc(4000, 'x')), 'A', 'a reason')
    await new Promise(setImmediate)
  }
  await t.rejects((async () => { while (report.isFull) await report.ready(running) })(),
    { code: 'FILE_UNUSABLE', exitStatus: 1, message: /ENOSPC/ })
  await t.rejects(report.close(), { code: 'FILE_UNUSABLE', exitStatus: 1 })
})
