/** What the loads of the lab are and are given. What they write: regression/lab/loads.test.js. */
import { readFile, readdir } from 'node:fs/promises'
import t from 'tap'
import { SETTINGS, optionsOf } from '../../settings.js'
import { gatewaySettings } from '../../lab/loads/gateway.js'
import { LOADS, loadNames } from '../../lab/loads/index.js'
import { FEED_OPTIONS } from '../../lab/loads/library.js'

t.test('every load says what it sends; the references are as written in the lab', async (t) => {
  for (const name of loadNames()) t.match(LOADS[name].does, /^[a-z].{10,}[^.]$/i, name)
  const reference = { valueChange: 'never', batchItems: 1000, wholeBatches: true }
  t.same(LOADS.reference.always, reference)
  t.same(LOADS['reference-burst'].always, { ...reference, pace: 'burst', periodMs: 1000, chunks: 1 })
  t.same(LOADS.blob.always, { valueChange: 'always', batchItems: 1000 })
  for (const name of ['reference', 'reference-burst']) t.same(LOADS[name].wants, { valueBytes: 128 })
})

t.test('the library is given what openFeed takes of the settings of a writer, and the gateway what it takes', async (t) => {
  const all = Object.fromEntries(SETTINGS.filter(({ uses }) => uses.includes('writer')).map(({ name }) => [name, true]))
  t.same([...FEED_OPTIONS, 'redisUrl'].sort(), Object.keys(optionsOf(all)).sort())
  const given = Object.keys(gatewaySettings(all))
  const known = SETTINGS.filter(({ uses }) => uses.includes('gateway')).map(({ name }) => name)
  t.same(given.filter((name) => !known.includes(name)), [], 'and the gateway nothing that it does not know')
})

t.test('the scripts of the lab begin as those of lua/ do', async (t) => {
  const folder = new URL('../../lab/loads/lua/', import.meta.url)
  for (const file of await readdir(folder)) {
    const lines = (await readFile(new URL(file, folder), 'utf8')).split('\n')
    t.match(lines[0], /^-- [A-Z].*\.$/, file)
    t.match(lines[1], /^-- Atomic, because .*\.$/, file)
    t.same(lines.slice(2, 7).map((line) => /^-- ([A-Z]+) /.exec(line)?.[1]), ['KEYS', 'ARGV', 'RETURNS', 'COST', 'MODE'], file)
    t.match(lines[7], /^local .* = KEYS\[1\]/, file)
  }
})
