import fc from 'fast-check'
import t from 'tap'
import { holds } from '../properties.js'
import { read, readEveryWay } from './feeding.js'

const options = { format: 'json' }
const faults = (entries) => entries.filter((entry) => entry.fault).map(({ place, fault }) => [place, fault])
const texts = (entries) => entries.filter((entry) => !entry.fault).map(({ place, text }) => [place, text])

t.test('items of a top-level array are read one by one, with compact JSON as text', async (t) => {
  const { entries, error } = await readEveryWay(t,
    '\ufeff[ {"id": "a", "v": [1, {"x": null}, [], {}]},\r\n\t{"id":"é😀\\u00e9\\ud83d\\ude00", "ok": true, "no": false} ] \n', options)
  t.equal(error, null)
  t.same(entries, [
    { place: 1, record: { id: 'a', v: [1, { x: null }, [], {}] }, text: '{"id":"a","v":[1,{"x":null},[],{}]}', fault: null },
    { place: 2, record: { id: 'é😀é😀', ok: true, no: false }, text: '{"id":"é😀é😀","ok":true,"no":false}', fault: null }
  ])
})

t.test('the text keeps the digits of numbers, the record has doubles', async (t) => {
  const { entries } = await readEveryWay(t, '[{"n":12345678901234567890,"e":-1.50E+300,"huge":1e999,"zero":-0.0}]', options)
  t.equal(entries[0].text, '{"n":12345678901234567890,"e":-1.50E+300,"huge":1e999,"zero":-0.0}')
  t.equal(entries[0].record.n, 12345678901234567000)
})

t.test('items may be in a field of an object, nested or with dots in its name', async (t) => {
  for (const document of [
    '{"meta":{"items":[{"n":0}],"a":{"b":{}}},"a":{"c":1,"items":[{"n":1},{"n":2}],"d":"x"},"z":[[{"items":[]}]]}',
    '{"a.items":[{"n":1},{"n":2}]}'
  ]) {
    const { entries, error } = await readEveryWay(t, document, { ...options, itemsField: 'a.items' })
    t.equal(error, null)
    t.same(texts(entries), [[1, '{"n":1}'], [2, '{"n":2}']])
  }
})

t.test('an empty array gives no records', async (t) => {
  t.same(await readEveryWay(t, '[]', options), { entries: [], error: null })
  t.same(await readEveryWay(t, '{"items":[]}', { ...options, itemsField: 'items' }), { entries: [], error: null })
})

t.test('an item that is not an object is a fault, and other items are read', async (t) => {
  const { entries, error } = await readEveryWay(t, '[{"n":1},2,"three",[{"n":4}],null,true,false,{"n":8}]', options)
  t.equal(error, null)
  t.same(texts(entries), [[1, '{"n":1}'], [8, '{"n":8}']])
  t.same(faults(entries), [
    [2, 'a number; expected an object'], [3, 'a string; expected an object'], [4, 'an array; expected an object'],
    [5, 'null; expected an object'], [6, 'true; expected an object'], [7, 'false; expected an object']
  ])
})

t.test('an item over the limit is one fault, and other items are read', async (t) => {
  const document = JSON.stringify([{ n: 1 }, { s: 'é'.repeat(12), t: { u: [] } }, { n: 3 }, { ['k'.repeat(999)]: 1 },
    { n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11] }, { n: 6 }])
  const { entries, error } = await readEveryWay(t, document, { ...options, maxRecordBytes: 30 })
  t.equal(error, null)
  t.same(texts(entries), [[1, '{"n":1}'], [3, '{"n":3}'], [6, '{"n":6}']])
  t.same(faults(entries), [[2, 'longer than 30 bytes'], [4, 'longer than 30 bytes'], [5, 'longer than 30 bytes']])
})

t.test('a document that is cut off anywhere yields its complete items, then INPUT_INVALID', async (t) => {
  const document = '{"x":{"y":1},"items":[{"n":1},{"n":"}"},{"n":3}],"z":[1]}'
  for (let length = 0; length < document.length; length++) {
    const { entries, error } = await read(document.slice(0, length), { ...options, itemsField: 'items' })
    const ends = ['{"n":1}', '{"n":"}"}', '{"n":3}'].filter((item) => document.indexOf(item) + item.length <= length)
    t.same(entries.map((entry) => entry.text), ends, `items after ${length} bytes`)
    t.equal(error?.code, 'INPUT_INVALID')
    t.match(error?.message, new RegExp(`cut off or not JSON near byte ${length}, after ${ends.length} complete items`))
  }
})

t.test('a syntax error yields the items before it, then INPUT_INVALID with the approximate place', async (t) => {
  const good = '[{"n":1},{"n":2}'
  for (const bad of [' x', ',}', ',]', '}', ',{"n":01}]', ',{"n":tru}]', ',{"n" 1}]', ',{n:1}]', ',{"n":"\n"}]', ',{"n":"\\x"}]', '] {}',
    '],']) {
    const { entries, error } = await readEveryWay(t, good + bad, options)
    t.same(texts(entries), [[1, '{"n":1}'], [2, '{"n":2}']], bad)
    t.equal(error?.code, 'INPUT_INVALID')
    t.match(error?.message, /not JSON .*near byte \d\d, after 2 complete items/)
  }
})

t.test('invalid UTF-8 ends the document after the items before it', async (t) => {
  const good = Buffer.from('[{"n":"\ufffdé"},{"n":2},{"n":"')
  for (const bad of [[0xff], [0xc3, 0x28], [0xef, 0xbf, 0x41], [0xed, 0xa0, 0x80], [0xf0, 0x9f, 0x98]]) {
    const { entries, error } = await readEveryWay(t, Buffer.concat([good, Buffer.from(bad), Buffer.from('"},{"n":4}]')]), options)
    t.same(texts(entries), [[1, '{"n":"\ufffdé"}'], [2, '{"n":2}']])
    t.match(error, { code: 'INPUT_INVALID', message: /not valid UTF-8 near byte/ })
  }
})

t.test('an incomplete character after the document is detected', async (t) => {
  const { entries, error } = await readEveryWay(t, Buffer.concat([Buffer.from('[{"n":1}]\n'), Buffer.from([0xe2, 0x82])]), options)
  t.same(texts(entries), [[1, '{"n":1}']])
  t.match(error, { code: 'INPUT_INVALID', message: /not valid UTF-8/ })
})

t.test('a document without the array of items is INPUT_INVALID, and the message names the field', async (t) => {
  for (const [document, itemsField, says] of [
    ['{"data":{"items":{}}}', 'data.items', /has an object in field data\.items; /],
    ['{"data":{"items":7}}', 'data.items', /has a number in field data\.items; /],
    ['{"data":{"list":[]},"items":[]}', 'data.items', /has no field data\.items; /],
    ['{"data":[{"items":[]}]}', 'data.items', /has no field data\.items; /],
    ['{"a":[],"a":[]}', 'a', /has field a twice; /],
    ['[{"items":[]}]', 'items', /is an array; expected an object with one array of items in field items/],
    ['{"items":[]}', null, /is an object; expected an array of items; .*--items-field/],
    ['12', null, /is a number; /],
    ['"x"', 'a', /is a string; /],
    ['  ', null, /cut off or not JSON near byte/]
  ]) {
    const { entries, error } = await readEveryWay(t, document, { ...options, itemsField })
    t.same(entries, [])
    t.equal(error?.code, 'INPUT_INVALID')
    t.match(error?.message, says)
  }
})

t.test('endless nesting is INPUT_INVALID', async (t) => {
  const { error } = await read('['.repeat(5000), options)
  t.match(error, { code: 'INPUT_INVALID', message: /nested more than 1,000 deep/ })
})

t.test('a key called __proto__ is a plain key, in items and around them', async (t) => {
  const { entries } = await readEveryWay(t, '{"__proto__":{"items":[{"__proto__":{"id":"x"},"constructor":1}]}}',
    { ...options, itemsField: '__proto__.items' })
  t.same(Object.keys(entries[0].record), ['__proto__', 'constructor'])
  t.equal(Object.getPrototypeOf(entries[0].record), Object.prototype)
  t.equal(entries[0].text, '{"__proto__":{"id":"x"},"constructor":1}')
})

t.test('any array of objects is read back from any chunks', async (t) => {
  const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
  const anyArray = fc.array(object, { maxLength: 20 })
  const property = fc.asyncProperty(anyArray, fc.constantFrom(0, 2), fc.integer({ min: 1, max: 64 }), async (objects, indent,
    chunkBytes) => {
    const { entries, error } = await read(JSON.stringify(objects, null, indent), options, chunkBytes)
    return error === null &&
      JSON.stringify(entries.map((entry) => entry.record)) === JSON.stringify(objects.map((one) => JSON.parse(JSON.stringify(one))))
  })
  await holds(t, property, { runs: 100 })
})
