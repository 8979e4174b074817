import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { residentMib, runCommand } from '../commands.js'
import { eventually, startServer } from '../servers.js'
import { startFlow } from './flow.js'
import { nightly, scopedEngines, wholeTest } from '../scope.js'
import { sharedDeployment } from '../shared.js'

const MIB = 1024 * 1024
/** of 2 kB each: more than pipe and writer hold */
const LINES = 6000
const [engine] = await scopedEngines()
const { reader, write, startWriter, runWriter } = await startFlow(t, await sharedDeployment(t, { engine }))

/** @param {string} feed @param {string[]} flags */
const stdin = (feed, flags = []) => ['--source', 'stdin', '--feed', feed, ...flags]
/** @param {object[]} records */
const ndjson = (records) => records.map((record) => JSON.stringify(record) + '\n').join('')
const now = Date.now()

t.test('ndjson: every line is an item, with the whole line as value', async (t) => {
  const records = Array.from({ length: 250 }, (_, i) => ({ id: `bus-${i}`, ts: now - 250 + i, speed: i / 10 }))
  const { code, summary } = await write(t, stdin('lines'), { input: ndjson(records) })
  t.equal(code, 0)
  t.match(summary, { offered: 250, items: 250, refused: 0 })
  const items = await reader.allItems('lines', 'limit=100&encoding=json')
  t.same(items, records.reverse().map((record) => ({ id: record.id, ts: record.ts, value: record })))
})

t.test('csv: every row is an item, with a value field or the whole row', async (t) => {
  const input = 'place,seen,note\nharbour,2026-01-31T10:00:00Z,"calm, clear"\n"old ""port""",2026-01-31,rain\n'
  const flags = ['--format', 'csv', '--id-field', 'place', '--ts-field', 'seen', '--window-ms', '0']
  t.equal((await write(t, stdin('rows', flags), { input })).code, 0)
  t.same(await reader.allItems('rows', 'encoding=json'), [
    { id: 'harbour', ts: Date.UTC(2026, 0, 31, 10), value: { place: 'harbour', seen: '2026-01-31T10:00:00Z', note: 'calm, clear' } },
    { id: 'old "port"', ts: Date.UTC(2026, 0, 31), value: { place: 'old "port"', seen: '2026-01-31', note: 'rain' } }
  ])
  t.equal((await write(t, stdin('notes', [...flags, '--value-field', 'note']), { input })).code, 0)
  t.same((await reader.allItems('notes', 'encoding=utf8')).map(({ value }) => value), ['calm, clear', 'rain'])
})

t.test('csv: names of columns may have blanks', async (t) => {
  const input = 'Bus id,Time of report,Last stop\nbus 7,2026-01-31,Main Street\n'
  const flags = ['--format', 'csv', '--window-ms', '0']
  const fields = ['--id-field', 'Bus id', '--ts-field', 'Time of report', '--value-field', 'Last stop']
  t.match(await write(t, stdin('blanks', [...flags, ...fields]), { input }), { code: 0, summary: { items: 1 } })
  t.same(await reader.allItems('blanks', 'encoding=utf8'), [{ id: 'bus 7', ts: Date.UTC(2026, 0, 31), value: 'Main Street' }])
  const { code, stderr } = await write(t, stdin('unnamed', flags), { input })
  t.equal(code, 3)
  t.match(stderr, /id field id is missing; --id-field names it, one of "Bus id", "Time of report", "Last stop"/)
})

t.test('csv: lines that end in CR, and a header alone, are reported', async (t) => {
  const cr = await write(t, stdin('cr', ['--format', 'csv']), { input: 'id,ts\ra,2026-01-31\rb,2026-01-31\r' })
  t.equal(cr.code, 1)
  t.match(cr.stderr, /INPUT_INVALID.*CSV header: the lines end in CR; expected LF or CRLF/)
  for (const input of ['id,ts', 'id,ts\n\n', 'id,ts\r\n']) {
    const alone = await write(t, stdin('alone', ['--format', 'csv']), { input })
    t.match(alone, { code: 0, summary: { offered: 0 }, stderr: /"level":"?(40|warn)"?.*the CSV input has a header and no rows/ })
  }
  const one = await write(t, stdin('one', ['--format', 'csv', '--window-ms', '0']), { input: 'id,ts\na,2026-01-31\n' })
  t.notMatch(one.stderr, /no rows/)
})

t.test('small numbers are no times of 1970, also without a window', async (t) => {
  const input = ndjson([2024, 202_601, 235_959, 45_658, '2024', 0].map((ts, i) => ({ id: `${i}`, ts })))
  const { code, summary, stderr } = await write(t, stdin('small', ['--window-ms', '0']), { input })
  t.equal(code, 3)
  t.match(summary, { offered: 6, items: 0, refusedBy: { ts_invalid: 6 } })
  t.match(stderr, /^line 1: ITEM_TS_INVALID: time field ts: 2024 looks like a year; write it as 2024-01-01$/m)
})

wholeTest('json: items of an array in an object', async (t) => {
  const input = JSON.stringify({
    type: 'list', data: { rows: [{ key: 1, at: { time: now }, v: { a: [1] } }, { key: 2, at: { time: now - 1 }, v: null }] }
  }, null, 2)
  const flags = ['--format', 'json', '--items-field', 'data.rows', '--id-field', 'key', '--ts-field', 'at.time', '--value-field', 'v']
  t.equal((await write(t, stdin('array', flags), { input })).code, 0)
  t.same(await reader.allItems('array', 'encoding=json'), [{ id: '1', ts: now, value: { a: [1] } }, { id: '2', ts: now - 1, value: null }])
})

t.test('bad lines are refused and counted, the first of each code are shown, good lines are written; exit 3', async (t) => {
  const good = Array.from({ length: 20 }, (_, i) => ({ id: `good-${i}`, ts: now + i }))
  const lines = good.map((record) => JSON.stringify(record))
  lines.splice(3, 0, 'not json', '[1]', '{"ts":1}', '{"id":"x","ts":1700000000}', '{"id":"x","ts":"soon"}', '{"id":"x"', '', '5')
  const { code, summary, stderr, stdout } = await runWriter(t, stdin('mixed'), { input: lines.join('\n') }).ended()
  t.equal(code, 3)
  t.match(summary, { offered: 27, items: 20, refused: 7, refusedBy: { input_invalid: 4, id_invalid: 1, ts_invalid: 2 } })
  t.equal(stdout.trim().split('\n').length, 1)
  t.match(stderr, /^line 4: INPUT_INVALID: not JSON: /m)
  t.match(stderr, /^line 5: INPUT_INVALID: not a JSON object$/m)
  t.match(stderr, /^line 6: ITEM_ID_INVALID: id field id is missing; --id-field names it, one of ts$/m)
  t.match(stderr, /^line 7: ITEM_TS_INVALID: time field ts: 1700000000 looks like seconds; multiply by 1000$/m)
  t.match(stderr, /^line 8: ITEM_TS_INVALID: time field ts: "soon"; expected milliseconds since 1970 below 2\^41, or ISO 8601$/m)
  t.match(stderr, /^line 9: INPUT_INVALID: /m)
  t.notMatch(stderr, /^line 11:/m, 'the fourth of its code')
  t.match(stderr, /^4 lines refused: INPUT_INVALID$/m)
  t.match(stderr, /^1 line refused: ITEM_ID_INVALID$/m)
  t.match(stderr, /^--rejects FILE writes all of them to a file$/m)
  t.same((await reader.allItems('mixed')).map(({ id }) => id).reverse(), good.map(({ id }) => id))
})

t.test('records without a time get the current one, with a warning; a replay refuses them', async (t) => {
  const before = Date.now()
  const { code, stderr } = await write(t, stdin('untimed', ['--log-level', 'warn']),
    { input: ndjson([{ id: 'a' }, { id: 'b' }, { id: 'c', ts: now }]) })
  t.equal(code, 0)
  t.equal(stderr.match(/records without a field ts get the current time; --ts-field names the field of the time/g)?.length, 1)
  const items = await reader.allItems('untimed')
  t.same(items.map(({ id }) => id), ['b', 'a', 'c'])
  t.ok(items[1].ts >= before && items[0].ts <= Date.now())
  const replayed = await write(t, stdin('replay-untimed', ['--replay', '1']), { input: ndjson([{ id: 'a' }, { id: 'c', ts: now }]) })
  t.equal(replayed.code, 3)
  t.match(replayed.summary, { items: 1, refusedBy: { ts_invalid: 1 } })
  t.match(replayed.stderr, /line 1: ITEM_TS_INVALID: time field ts is missing; name the field of the time with --ts-field, or omit --replay/)
})

wholeTest('a run that stores nothing leaves no feed, and its message has the flag for the next', async (t) => {
  const input = ndjson(Array.from({ length: 50 }, (_, i) => ({ id: `${i}`, ts: Date.UTC(2020, 0, 1) + i })))
  const failed = await write(t, stdin('retried', ['--window-ms', '60000']), { input })
  t.equal(failed.code, 3)
  t.match(failed.stderr, /^50 lines refused: ITEM_TOO_OLD; the window is 60000 ms; to change it: --window-ms N \(0 = no age limit\)$/m)
  t.equal((await reader.get('/v1/feeds/retried')).status, 404)
  const retried = await write(t, stdin('retried', ['--window-ms', '0', '--layout', 'segments']), { input })
  t.equal(retried.code, 0)
  t.match(retried.summary, { items: 50, refused: 0 })
  t.match((await reader.ask('/v1/feeds/retried')).json, { windowMs: 0, layout: 'segments' })
  const differs = startWriter(t, stdin('retried', ['--layout', 'ids']), { input: null })
  const { code, stderr } = await differs.ended()
  t.equal(code, 2, 'another definition is reported before any input')
  t.match(stderr, /feed retried is stored with layout segments, not ids/)
  await write(t, stdin('short', ['--window-ms', '60000']), { input: ndjson([{ id: 'a' }]) })
  const older = await write(t, stdin('short', ['--window-ms', '0']), { input })
  t.match(older.stderr, /ITEM_TOO_OLD; the window is 60000 ms; to change it: npx freshet feed set short --window-ms N/)
})

t.test('input in another format ends with one error message', async (t) => {
  const { code, stderr } = await write(t, stdin('broken', ['--format', 'json', '--items-field', 'rows']), { input: '{"row":[]}' })
  t.equal(code, 1)
  t.match(stderr, /"code":"INPUT_INVALID".*has no field rows/)
  t.notMatch(stderr, /\n {4}at /)
})

wholeTest('--items and --duration end the writer while the pipe is open', async (t) => {
  const counted = startWriter(t, stdin('two', ['--items', '2']), { input: null })
  counted.stdin.write(ndjson([{ id: 'a', ts: now }, { id: 'b', ts: now }]))
  t.match(await counted.ended(), { code: 0, summary: { items: 2 } })
  const timed = runWriter(t, stdin('silent', ['--duration', '0.5', '--drain-ms', '600000']), { input: null })
  t.match(await timed.ended(), { code: 0, summary: { items: 0 } })
})

wholeTest('Ctrl-C ends the writer while the pipe is idle', async (t) => {
  const writer = startWriter(t, stdin('quiet'), { input: null })
  writer.stdin.write(ndjson([{ id: 'a', ts: now }]))
  await writer.until(/"items":1,/)
  t.match(await writer.stop(), { code: 0, summary: { items: 1 } })
})

wholeTest('--replay 10 shifts the first time to now and replays ten times as fast', async (t) => {
  const gaps = [0, 0, 2000, 2500, 5000, 5001, 9000]
  const writer = startWriter(t, stdin('replay', ['--replay', '10']), { input: null })
  await pause(500)
  const sentAt = Date.now()
  writer.stdin.end(ndjson(gaps.map((gap, i) => ({ id: `${i}`, ts: 1_000_000 + gap }))))
  const { code, summary } = await writer.ended()
  t.equal(code, 0)
  t.equal(summary.items, gaps.length)
  const items = (await eventually(async () => {
    const found = await reader.allItems('replay')
    return found.length === gaps.length && found
  })).reverse()
  t.same(items.map(({ id }) => id), gaps.map((_, i) => `${i}`), 'in the order of the input')
  // the clock of the writer is monotonic since its start, so an adjusted clock of the machine differs from it
  t.ok(items[0].ts >= sentAt - 100, 'the first is now')
  t.same(items.filter(({ ts }, i) => Math.abs(ts - items[0].ts - gaps[i] / 10) > 1), [], 'a tenth of the distances')
  t.ok(summary.seconds >= 0.9, 'and the pace is theirs')
})

t.test('while the server is frozen, the pipe is not read', async (t) => {
  const primary = await startServer(t, { engine })
  const flags = ['--window-ms', '86400000', '--in-flight-bytes', String(MIB)]
  const writer = runCommand(t, ['writer', '--redis-url', primary.url, ...stdin('pressed', flags)], { input: null })
  const line = (/** @type {number} */ i) => JSON.stringify({ id: `${i % 1000}`, ts: now - LINES + i, pad: 'x'.repeat(2000) }) + '\n'
  writer.stdin.write(line(0))
  await writer.until(/"items":1,/)
  let written = 0
  const producer = (async () => {
    for (let i = 1; i < LINES; i++) {
      const text = line(i)
      written += text.length
      if (!writer.stdin.write(text)) await once(writer.stdin, 'drain')
    }
  })()
  primary.freeze()
  t.teardown(() => primary.thaw())
  for (let before = -1; before !== written; await pause(1000)) before = written
  t.ok(written < 8 * MIB, `${Math.round(written / MIB)} of ${2 * LINES / 1024 | 0} MiB went into the pipe`)
  primary.thaw()
  await producer
  writer.stdin.end()
  const { code, summary } = await writer.ended()
  t.equal(code, 0)
  t.match(summary, { offered: LINES, items: LINES })
})

wholeTest('memory does not grow with the length of the input', async (t) => {
  const writer = runWriter(t, stdin('long'), { input: null })
  // in all more than may stay in memory
  const [total, padBytes] = nightly([100_000, 3000], [20_000, 9000])
  const pad = 'x'.repeat(padBytes)
  writer.stdin.write(JSON.stringify({ id: 'first', ts: now }) + '\n')
  await writer.until(/"items":1,/)
  const before = await residentMib(writer.pid)
  let peak = before
  const sampler = setInterval(async () => { peak = Math.max(peak, await residentMib(writer.pid)) }, 500)
  t.teardown(() => clearInterval(sampler))
  for (let i = 1; i < total;) {
    let block = ''
    for (const end = Math.min(total, i + 100); i < end; i++) block += `{"id":"${i % 1000}","ts":${now - total + i},"pad":"${pad}"}\n`
    if (!writer.stdin.write(block)) await once(writer.stdin, 'drain')
  }
  writer.stdin.end()
  const { code, summary } = await writer.ended()
  t.equal(code, 0)
  t.match(summary, { offered: total, items: total })
  t.comment(`resident ${Math.round(before)} MiB before, ${Math.round(peak)} MiB at most, ${Math.round(summary.bytes / MIB)} MiB written, ` +
    `in ${summary.seconds} s`)
  t.ok(peak - before < 128)
})
