import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { runCommand } from '../../test/commands.js'
import { engineName } from '../../test/servers.js'
import { caughtUp, startFlow } from '../../test/flow/flow.js'
import { scopedEngines } from '../../test/scope.js'
import { sharedDeployment } from '../../test/shared.js'

const textOf = (/** @type {string} */ name) =>
  readFileSync(fileURLToPath(new URL(`../../examples/data/${name}`, import.meta.url)), 'utf8')

const DATASETS = [
  {
    file: 'weather.csv',
    flags: ['--format', 'csv', '--id-field', 'location', '--ts-field', 'date', '--window-ms', '0'],
    read (/** @type {string} */ text) {
      const [header, ...rows] = text.trim().split('\n').map((line) => line.trim().split(','))
      return rows.map((row) =>
        ({ id: row[0], ts: Date.parse(row[1] + 'T00:00:00Z'), value: Object.fromEntries(row.map((field, i) => [header[i], field])) }))
    }
  },
  {
    file: 'earthquakes.json',
    flags: ['--format', 'json', '--items-field', 'features', '--id-field', 'id', '--ts-field', 'properties.updated', '--window-ms', '0'],
    read: (/** @type {string} */ text) =>
      JSON.parse(text).features.map((/** @type {any} */ feature) => ({ id: feature.id, ts: feature.properties.updated, value: feature }))
  }
]

/**
 * What is live when all of it was written: of each id the newest, newest first by (ts, seq, id bytes).
 * @param {{ id: string, ts: number, value: any }[]} items
 */
function newestOf (items) {
  const numbered = []
  for (const item of items) {
    const before = numbered.at(-1)
    numbered.push({ ...item, bytes: Buffer.from(item.id), seq: before?.ts === item.ts ? Math.min(before.seq + 1, 4095) : 0 })
  }
  const sorted = numbered.sort((a, b) => b.ts - a.ts || b.seq - a.seq || Buffer.compare(b.bytes, a.bytes))
  const seen = new Set()
  return sorted.filter(({ id }) => !seen.has(id) && seen.add(id)).map(({ id, ts, value }) => ({ id, ts, value }))
}

const [engine] = await scopedEngines()
t.test(`${engineName(engine)}: public data sets are read back complete and in order`, async (t) => {
  const deployment = await sharedDeployment(t, { engine })
  const { reader, target, write } = await startFlow(t, deployment)
  for (const { file, flags, read } of DATASETS) {
    const text = textOf(file)
    const items = read(text)
    const expected = newestOf(items)
    const feed = file.replace(/\W/, '-')
    const all = ['--feed', feed, '--source', 'stdin', ...flags]
    // one of them as documents say it
    const { code, summary } = file === DATASETS[0].file
      ? await runCommand(t, ['writer', '--', '--redis-url', target.redisUrl, '--key-prefix', target.keyPrefix, ...all],
        { npm: true, input: text }).ended()
      : await write(t, all, { input: text })
    t.equal(code, 0)
    t.match(summary, { offered: items.length, items: items.length, refused: 0, dropped: 0, failed: 0 })
    await caughtUp(deployment)
    t.same(await reader.allItems(feed, 'limit=97&encoding=json'), expected, `${file}: ${expected.length} ids of ${items.length} items`)
    t.equal((await reader.ask(`/v1/feeds/${feed}/count`)).json.count, expected.length)
    const { id } = expected[expected.length >> 1]
    t.same((await reader.ask(`/v1/feeds/${feed}/items/${encodeURIComponent(id)}?encoding=json`)).json,
      expected.find((item) => item.id === id))
  }
})
