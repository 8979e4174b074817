import fc from 'fast-check'
import t from 'tap'
import { holds } from '../properties.js'
import { read, readEveryWay } from './feeding.js'

const options = { format: 'csv' }
const faults = (entries) => entries.filter((entry) => entry.fault).map(({ place, fault }) => [place, fault])
const texts = (entries) => entries.filter((entry) => !entry.fault).map(({ place, text }) => [place, text])

t.test('a record has the columns of the first row as strings, in order, as object and as JSON text', async (t) => {
  const { entries } = await readEveryWay(t, 'id,10,2,name\na,1,002,é\n', options)
  t.same(entries,
    [{ place: 2, record: { id: 'a', 10: '1', 2: '002', name: 'é' }, text: '{"id":"a","10":"1","2":"002","name":"é"}', fault: null }])
})

t.test('quoted fields may contain commas, quotes and line ends, which count as lines', async (t) => {
  const { entries } = await readEveryWay(t, 'id,"na""me"\r\na,"x, y"\r\nb,"one\ntwo\r\n""three"""\r\n\r\nc,\n"",""', options)
  t.same(texts(entries), [
    [2, '{"id":"a","na\\"me":"x, y"}'],
    [3, '{"id":"b","na\\"me":"one\\ntwo\\r\\n\\"three\\""}'],
    [7, '{"id":"c","na\\"me":""}'],
    [8, '{"id":"","na\\"me":""}']
  ])
  t.same(faults(entries), [])
})

t.test('a byte order mark is not part of the first name, quoted or not', async (t) => {
  t.same(texts((await readEveryWay(t, '\ufeffid,ts\na,1\n', options)).entries), [[2, '{"id":"a","ts":"1"}']])
  t.same(texts((await readEveryWay(t, '\ufeff"id",ts\na,1\n', options)).entries), [[2, '{"id":"a","ts":"1"}']])
})

t.test('a row with another number of columns is a fault at its line', async (t) => {
  const { entries } = await readEveryWay(t, 'id,ts\na,1\nb\n"c\nd",2\ne,3,4\nf,5\n', options)
  t.same(texts(entries).map(([place]) => place), [2, 4, 7])
  t.same(faults(entries), [[3, 'columns: 1; the header has 2'], [6, 'columns: 3; the header has 2']])
})

t.test('a malformed row is a fault, and other rows are read', async (t) => {
  const document = Buffer.concat([Buffer.from('id,ts\na,1\nb "x",2\n"c"d,3\n'), Buffer.from([0xff]), Buffer.from(',4\ne,5\n"f,6\ng,7\n')])
  const { entries } = await readEveryWay(t, document, options)
  t.same(texts(entries).map(([place]) => place), [2, 6])
  t.same(faults(entries), [
    [3, 'quote inside an unquoted field'],
    [4, 'text after a closing quote'],
    [5, 'not valid UTF-8'],
    [7, 'unclosed quote']
  ])
})

t.test('a row over the limit is one fault, whatever it contains', async (t) => {
  const long = '"' + 'x,1\n'.repeat(20) + '",2'
  const { entries } = await readEveryWay(t, `id,ts\na,1\n${long}\nb,2\n${'c'.repeat(60)},3\n,\n`, { ...options, maxRecordBytes: 40 })
  t.same(texts(entries), [[2, '{"id":"a","ts":"1"}'], [24, '{"id":"b","ts":"2"}'], [26, '{"id":"","ts":""}']])
  t.same(faults(entries), [[3, 'longer than 40 bytes'], [25, 'longer than 40 bytes']])
})

t.test('a header with missing or duplicate names is INPUT_INVALID', async (t) => {
  for (const [document, says] of [
    ['id,ts,id\na,1,b\n', /duplicate column name "id"/],
    ['id,,ts\na,1,b\n', /column 2 has no name/],
    ['i"d,ts\na,1\n', /line 1: quote inside/],
    ['\n\n"id,ts\na,1\n', /line 3: unclosed quote/],
    ['x'.repeat(100) + '\na\n', /line 1: longer than 64 bytes/],
    [Buffer.from([0x69, 0xff, 0x0a]), /line 1: not valid UTF-8/],
    ['id;ts;note\na;1;b\n', /header: one column, "id;ts;note"; expected commas between fields, not ";"\. .*delimiter=';'/],
    ['id\tts\na\t1\n', /expected commas between fields, not "\\t"/],
    ['', /header: none/],
    ['id,ts\ra,1\rb,2\r', /^CSV header: the lines end in CR; expected LF or CRLF\. Convert it: tr "\\r" "\\n" < FILE$/],
    ['id,ts\r"a",1', /the lines end in CR/],
    [`"i\rd",ts\r${'a,1\r'.repeat(100)}`, /the lines end in CR/]
  ]) {
    const { entries, error } = await readEveryWay(t, document, { ...options, maxRecordBytes: 64 })
    t.same(entries, [])
    t.equal(error?.code, 'INPUT_INVALID')
    t.match(error?.message, says)
  }
})

t.test('a quoted name may contain CR', async (t) => {
  t.same(texts((await readEveryWay(t, '"i\rd",ts\r\na,1\r\n', options)).entries), [[2, '{"i\\rd":"a","ts":"1"}']])
})

t.test('a header without rows gives no records', async (t) => {
  t.same(await readEveryWay(t, 'id,ts', options), { entries: [], error: null })
})

t.test('a column called __proto__ is a plain column', async (t) => {
  const { entries } = await read('__proto__,constructor\nx,y\n', options)
  t.same(Object.entries(entries[0].record), [['__proto__', 'x'], ['constructor', 'y']])
  t.equal(Object.getPrototypeOf(entries[0].record), Object.prototype)
  t.equal(entries[0].text, '{"__proto__":"x","constructor":"y"}')
})

t.test('any fields are read back from any chunks, with the first line of their row', async (t) => {
  const field = fc.oneof(fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', 'é', ' ') }), fc.string({ unit: 'grapheme' }))
  const quoted = (text) => `"${text.replaceAll('"', '""')}"`
  const property = fc.asyncProperty(fc.array(fc.tuple(field, field)), fc.constantFrom('\n',
    '\r\n'), fc.integer({ min: 1, max: 40 }), async (rows, lineEnd, chunkBytes) => {
    const lines = rows.map((row) => row.map(quoted).join(','))
    const { entries } = await read(['a,b', ...lines].join(lineEnd), options, chunkBytes)
    let place = 2
    return entries.length === rows.length && entries.every(({ record, place: at }, index) => {
      const right = record.a === rows[index][0] && record.b === rows[index][1] && at === place
      place += lines[index].split('\n').length
      return right
    })
  })
  await holds(t, property, { runs: 300 })
})
