/** Server-sent events are parsed as the HTML standard says, in pieces of any size. */
import fc from 'fast-check'
import t from 'tap'
import { createEventParser } from '../../src/client.js'
import { holds } from '../properties.js'

/** @param {Iterable<Uint8Array>} chunks */
function parsed (chunks) {
  const decoder = new TextDecoder()
  const take = createEventParser()
  return [...chunks].flatMap((chunk) => [...take(decoder.decode(chunk, { stream: true }))])
}

const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text)
const event = (/** @type {object} */ fields) => /** @type {any} */ ({ name: '', data: null, id: null, retry: null, ...fields })

/** @type {[title: string, stream: string, events: object[]][]} the first ones are examples of the standard */
const CASES = [
  ['lines of data are one text', 'data: YHOO\ndata: +2\ndata: 10\n\n', [event({ data: 'YHOO\n+2\n10' })]],
  ['comments, an id, an empty id, one space is left out',
    ': test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n',
    [event({ data: 'first event', id: '1' }), event({ data: 'second event', id: '' }), event({ data: ' third event' })]],
  ['a field without a colon is empty, and what has no end is none', 'data\n\ndata\ndata\n\ndata:',
    [event({ data: '' }), event({ data: '\n' })]],
  ['a space behind the colon or none', 'data:test\n\ndata: test\n\n', [event({ data: 'test' }), event({ data: 'test' })]],
  ['lines end with CR LF', 'event: items\r\ndata: a\r\ndata: b\r\n\r\ndata: c\r\n\r\n',
    [event({ name: 'items', data: 'a\nb' }), event({ data: 'c' })]],
  ['lines end with CR', 'event: items\rdata: a\rdata: b\r\rdata: c\r\r', [event({ name: 'items', data: 'a\nb' }), event({ data: 'c' })]],
  ['lines end as they like', 'data: a\rdata: b\ndata: c\r\n\rdata: d\n\r\n', [event({ data: 'a\nb\nc' }), event({ data: 'd' })]],
  ['a byte order mark in front', '\ufeffdata: a\n\n', [event({ data: 'a' })]],
  ['and only there', 'data: a\n\n\ufeffdata: b\n\n', [event({ data: 'a' })]],
  ['an id with NUL is none', 'id: 1\nid: a\0b\ndata: x\n\n', [event({ id: '1', data: 'x' })]],
  ['a wait is digits', 'retry: 1e3\n\nretry: -1\n\nretry:\n\nretry: 250\n\n', [event({ retry: 250 })]],
  ['a wait is an hour at most', 'retry: 99999999999999999999\n\n', [event({ retry: 3_600_000 })]],
  ['unknown fields and other cases are nothing', 'Data: a\nnonsense: b\n data: c\n\ndata: d\n\n', [event({ data: 'd' })]],
  ['an id alone moves the position', ': \nid: p2\n\n', [event({ id: 'p2' })]],
  ['the last of several counts', 'event: a\nevent: b\nid: 1\nid: 2\ndata:\n\n', [event({ name: 'b', id: '2', data: '' })]],
  ['more than ASCII', 'data: \u00e4\u2028\u{1f600}\u0085\n\n', [event({ data: '\u00e4\u2028\u{1f600}\u0085' })]],
  ['empty lines are nothing', '\n\n\r\n\r\r\n', []]
]

for (const [title, text, events] of CASES) {
  t.test(title, async (t) => {
    const all = bytes(text)
    t.same(parsed([all]), events)
    for (let at = 1; at < all.length; at++) t.same(parsed([all.subarray(0, at), all.subarray(at)]), events, `cut at ${at}`)
    t.same(parsed(Array.from(all, (byte) => Uint8Array.of(byte))), events, 'byte by byte')
  })
}

/** The same in one go, from what the standard says about whole lines. @param {string} text */
function reference (text) {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/).slice(0, -1)
  const events = []
  let block = event({})
  for (const line of lines) {
    const [, name, value] = /** @type {string[]} */ (/^([^:]*)(?::(?: )?(.*))?$/s.exec(line))
    if (line === '') {
      if (block.data !== null || block.id !== null || block.retry !== null) events.push(block)
      block = event({})
    } else if (name === 'data') block.data = block.data === null ? value ?? '' : `${block.data}\n${value ?? ''}`
    else if (name === 'event') block.name = value ?? ''
    else if (name === 'id' && !value?.includes('\0')) block.id = value ?? ''
    else if (name === 'retry' && /^\d+$/.test(value)) block.retry = Math.min(Number(value), 3_600_000)
  }
  return events
}

t.test('how the text is split does not matter', async (t) => {
  const words = fc.constantFrom('data', 'id', 'event', 'retry', ':', ' ', '\r', '\n', '\r\n', '\n\n', '7', 'x', '\ufeff', '\u20ac', '\0')
  await holds(t, fc.property(fc.array(words, { maxLength: 60 }), fc.array(fc.nat(200), { maxLength: 8 }), (text, cuts) => {
    const all = bytes(text.join(''))
    const places = [0, ...cuts.filter((at) => at < all.length).sort((a, b) => a - b), all.length]
    const chunks = places.slice(1).map((at, i) => all.subarray(places[i], at))
    return JSON.stringify(parsed(chunks)) === JSON.stringify(reference(text.join('')))
  }), { runs: 2000 })
})

t.test('an event of 24 MB in pieces of 1 KB is parsed, a larger one than allowed is an error', async (t) => {
  const piece = 'x'.repeat(1024)
  const take = createEventParser()
  t.same(['data: ', ...Array.from({ length: 24_000 }, () => piece)].flatMap((text) => [...take(text)]), [])
  const [{ data }] = [...take('\n\n')]
  t.equal(data?.length, 24_000 * 1024)

  const small = createEventParser(1000)
  t.same([...small(`data: ${'x'.repeat(500)}\n`)], [])
  t.throws(() => [...small(`data: ${'x'.repeat(500)}`)], /more than 1000 characters/)
  t.throws(() => [...createEventParser(1000)('x'.repeat(1001))], /more than 1000 characters/)
})
