/** Files that the writer reads, and the one with what it refused. */
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { countRefused } from '../../src/pipeline/delivery.js'
import { eventually, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'
import { sharedDeployment } from '../shared.js'
import { startFlow } from './flow.js'
import { startWriter } from './writer.js'

const [engine] = await scopedEngines()
const { reader, write } = await startFlow(t, await sharedDeployment(t, { engine }))
const now = Date.now()
const folder = await mkdtemp(join(tmpdir(), 'freshet-stdin-'))
t.teardown(() => rm(folder, { recursive: true }))
const rejectedIn = async (/** @type {string} */ path) =>
  (await readFile(path, 'utf8')).split('\n').filter(Boolean).map((line) => JSON.parse(line))

/** @param {{ code: string }[]} rejected @returns {Record<string, number>} as in `refusedBy` of a summary */
function countsOf (rejected) {
  const account = { refused: {} }
  for (const { code } of rejected) countRefused(/** @type {any} */ (account), code === 'PIPELINE_FULL' ? 'full' : code)
  return account.refused
}

/** @param {string} feed @param {string[]} flags */
const stdin = (feed, flags = []) => ['--source', 'stdin', '--feed', feed, ...flags]
/** @param {object[]} records */
const ndjson = (records) => records.map((record) => JSON.stringify(record) + '\n').join('')

t.test('--rejects has every refused record, and no other', async (t) => {
  const path = join(folder, 'rejects')
  await writeFile(path, 'of an earlier run')
  const lines = [
    { id: 'kept', ts: now }, { id: 'old', ts: now - 90_000_000 }, { id: 'ahead', ts: now + 90_000_000 }, { id: 'x'.repeat(129), ts: now },
    { id: 'large', ts: now, pad: 'x'.repeat(1024 * 1024) }, { id: 'kept', ts: now - 1 }, { ts: now }, { id: 'a', ts: 1.5 }
  ].map((record) => JSON.stringify(record))
  const input = Buffer.concat([Buffer.from(lines.join('\n') + '\nno json\n'), Buffer.from([0x22, 0xff, 0x0a])])
  const { code, summary, stderr } = await write(t, stdin('rejected', ['--rejects', path]), { input })
  t.equal(code, 3)
  t.match(summary, { offered: 10, items: 1, refused: 9 })
  const rejected = await rejectedIn(path)
  t.match(rejected, [
    { line: 2, code: 'ITEM_TOO_OLD', reason: /^id old, ts \d+: the ts is older/, raw: lines[1] },
    { line: 3, code: 'ITEM_FROM_FUTURE', raw: lines[2] },
    { line: 4, code: 'ITEM_ID_INVALID', raw: lines[3] },
    { line: 5, code: 'ITEM_VALUE_TOO_LARGE', raw: lines[4].slice(0, 4096), truncated: true },
    { line: 7, code: 'ITEM_ID_INVALID', reason: 'id field id is missing', raw: lines[6] },
    { line: 8, code: 'ITEM_TS_INVALID', raw: lines[7] },
    { line: 9, code: 'INPUT_INVALID', raw: 'no json' },
    { line: 10, code: 'INPUT_INVALID', reason: 'not valid UTF-8', raw: 'Iv8=', encoding: 'base64' }
  ])
  const { late, ...others } = summary.refusedBy
  t.equal(late, 1)
  t.same(countsOf(rejected), others, 'as many of each code as in the summary; a late item is no rejected one')
  t.notMatch(stderr, /--rejects FILE/)
})

t.test('items that the full pipeline refuses are among the rejects, which are complete after Ctrl-C', async (t) => {
  const path = join(folder, 'full')
  const flags = ['--rejects', path, '--when-full', 'refuse', '--in-flight-bytes', '100000', '--drain-ms', '20000']
  const primary = await startServer(t, { engine })
  const writer = startWriter(t, stdin('full', flags), { redisUrl: primary.url, input: null })
  writer.stdin.write(ndjson([{ id: 'a', ts: now }]))
  await writer.until(/"items":1,/)
  primary.freeze()
  t.teardown(() => primary.thaw())
  const total = 12_000
  writer.stdin.write(ndjson(Array.from({ length: total }, (_, i) => ({ id: `${i}`, ts: now - i, pad: 'x'.repeat(500) }))))
  await writer.until(/PIPELINE_FULL/)
  await eventually(async () => (await stat(path)).size > 5_000_000)
  primary.thaw()
  const { code, summary } = await writer.stop()
  t.equal(code, 3)
  const rejected = await rejectedIn(path)
  t.same(countsOf(rejected), summary.refusedBy)
  t.ok(summary.refusedBy.full > 5000)
  t.equal(new Set(rejected.map(({ line }) => line)).size, rejected.length)
})

t.test('a rejects file that cannot be written ends the writer, after it stored what it took', async (t) => {
  const lines = ndjson([{ id: 'a', ts: now }]) + 'no json\n'.repeat(20_000)
  const { code, summary, stderr } = await write(t, stdin('disk', ['--rejects', '/dev/full']), { input: lines })
  t.equal(code, 1)
  t.match(stderr, /"code":"FILE_UNUSABLE".*ENOSPC/)
  t.equal(summary.items, 1)
  const input = join(folder, 'same')
  await writeFile(input, lines)
  const same = await write(t, ['--file', input, '--feed', 'same', '--rejects', input])
  t.equal(same.code, 2)
  t.match(same.stderr, /it is the input itself/)
  t.equal(await readFile(input, 'utf8'), lines)
})

t.test('--file reads a file', async (t) => {
  const path = join(folder, 'lines.ndjson')
  await writeFile(path, ndjson(Array.from({ length: 500 }, (_, i) => ({ id: `${i}`, ts: now + i }))))
  const { code, summary } = await write(t, ['--file', path, '--feed', 'plain'])
  t.equal(code, 0)
  t.match(summary, { offered: 500, items: 500 })
  t.equal((await reader.allItems('plain')).length, 500)
})

t.test('gzip is refused with the command that decompresses it', async (t) => {
  const path = join(folder, 'lines.gz')
  const packed = gzipSync(ndjson([{ id: 'a', ts: now }]))
  await writeFile(path, packed)
  for (const [flags, input] of /** @type {[string[], Buffer?][]} */ ([[['--file', path]], [['--source', 'stdin'], packed]])) {
    const { code, summary, stderr } = await write(t, ['--feed', 'packed', ...flags], { input })
    t.equal(code, 1)
    t.match(stderr, /"code":"INPUT_INVALID".*compressed with gzip; decompress it on the way: zcat FILE \| npx freshet writer --source stdin/)
    t.match(summary, { offered: 0, items: 0 })
  }
})

t.test('a missing file is a fault of the settings, with all others, before anything starts', async (t) => {
  const { code, stderr, stdout } = await write(t, ['--file', join(folder, 'none.csv'), '--rejects', join(folder, 'none', 'x'),
    '--writers', '2'])
  t.equal(code, 2)
  t.equal(stdout, '')
  t.match(stderr, /file: .*none\.csv, it does not exist \(--file\); expected a file that can be read/)
  t.match(stderr, /rejects: .*x, its directory does not exist \(--rejects\); expected a file that can be written/)
  t.notMatch(stderr, /"msg"/)
})
