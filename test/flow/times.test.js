/** The same times through every way in: the gateway, and the writer from standard input and a file. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { TIMES } from '../item/times.js'
import { scopedEngines } from '../scope.js'
import { sharedDeployment } from '../shared.js'
import { startFlow } from './flow.js'
import { startGateway } from '../services.js'

const [engine] = await scopedEngines()
const { target, write } = await startFlow(t, await sharedDeployment(t, { engine }))
const ANY_TIME = ['--window-ms', '0', '--max-future-ms', String(2 ** 41 - 1)]
const records = TIMES.map(([ts], i) => ({ id: `id-${i}`, ts, value: i }))
const isAccepted = (/** @type {any} */ expected) => typeof expected === 'number'
const stored = TIMES.flatMap(([, ts], i) => isAccepted(ts) ? [[`id-${i}`, ts]] : [])

/** What a feed holds. @param {string} name */
async function itemsOf (name) {
  const feed = await openFeed(name, { ...target, readFrom: 'primary', layout: 'ids' })
  t.teardown(() => feed.close())
  const { items } = await feed.latest(1000)
  return items.map(({ id, ts }) => [id, ts]).sort(([a], [b]) => Number(String(a).slice(3)) - Number(String(b).slice(3)))
}

t.test('over HTTP', async (t) => {
  const { post } = await startGateway(t, { ...target, flags: [...ANY_TIME, '--read-from', 'primary'] })
  for (const [i, [, expected]] of TIMES.entries()) {
    const { status, json } = await post('/v1/feeds/posted/items', [records[i]])
    if (isAccepted(expected)) t.equal(status, 200)
    else t.match(json, { status: 400, faults: [{ code: 'ITEM_TS_INVALID', reason: `ts ${expected}` }] })
  }
  t.same(await itemsOf('posted'), stored)
})

t.test('from standard input and a file', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-times-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const [file, rejects] = ['input', 'rejects'].map((name) => join(folder, name))
  const inFiles = TIMES.map(([, everywhere, expected = everywhere]) => expected)
  const input = records.map((record) => JSON.stringify(record) + '\n').join('')
  await writeFile(file, input)
  for (const [feed, source] of [['piped', ['--source', 'stdin']], ['filed', ['--file', file]]]) {
    const { code } = await write(t, ['--feed', String(feed), ...source, ...ANY_TIME, '--rejects', rejects], { input })
    t.equal(code, 3)
    t.same(await itemsOf(String(feed)), inFiles.flatMap((ts, i) => isAccepted(ts) ? [[`id-${i}`, ts]] : []))
    const rejected = (await readFile(rejects, 'utf8')).trim().split('\n').map((line) => JSON.parse(line))
    t.same(rejected.map(({ line, code, reason }) => [line, code, reason]), inFiles.flatMap((expected, i) =>
      isAccepted(expected) ? [] : [[i + 1, 'ITEM_TS_INVALID', `time field ts: ${expected}`]]))
  }
})

t.test('with the library, which takes integers', async (t) => {
  const feed = await openFeed('appended', { ...target, readFrom: 'primary', windowMs: 0, maxFutureMs: 2 ** 41 - 1 })
  t.teardown(() => feed.close())
  for (const [given, expected] of TIMES) {
    if (given === expected) t.ok(feed.append({ id: 'a', ts: given, value: '' }))
    else t.throws(() => feed.append({ id: 'a', ts: given, value: '' }), { code: 'ITEM_TS_INVALID', message: /^ts .*(looks like|expected integer)/ })
  }
})
