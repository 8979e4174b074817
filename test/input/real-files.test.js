import { createReadStream, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { createItemReader } from '../../writers/input/items.js'
import { readRecords } from '../../writers/input/records.js'

const fileOf = (name) => fileURLToPath(new URL(`../../examples/data/${name}`, import.meta.url))

async function itemsOf (name, options, fields) {
  const read = createItemReader({ valueField: null, ...fields })
  /** @type {[number, any][]} */
  const items = []
  for await (const entries of readRecords(createReadStream(fileOf(name)), options)) {
    for (const entry of entries) items.push([entry.place, read(entry)])
  }
  return items
}

t.test('weather.csv gives a day of a place in each row', async (t) => {
  const [header, ...rows] = readFileSync(fileOf('weather.csv'), 'utf8').trim().split('\n').map((line) => line.split(','))
  const expected = rows.map((row, at) => [at + 2, {
    id: row[0],
    ts: Date.parse(row[1]),
    value: JSON.stringify(Object.fromEntries(row.map((field, column) => [header[column], field])))
  }])
  const items = await itemsOf('weather.csv', { format: 'csv' }, { idField: 'location', tsField: 'date' })
  t.equal(items.length, 2922)
  t.same(items.map(([place, item]) => [place, { ...item, value: item.value.toString() }]), expected)
})

t.test('earthquakes.json gives a quake in each feature', async (t) => {
  const { features } = JSON.parse(readFileSync(fileOf('earthquakes.json'), 'utf8'))
  const expected = features.map((feature, at) => [at + 1, { id: feature.id, ts: feature.properties.updated, value: feature }])
  const items = await itemsOf('earthquakes.json', { format: 'json', itemsField: 'features' },
    { idField: 'id', tsField: 'properties.updated' })
  t.equal(items.length, 100)
  t.same(items.map(([place, item]) => [place, { ...item, value: JSON.parse(item.value) }]), expected)
})
