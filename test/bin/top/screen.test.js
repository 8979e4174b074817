/** The screen of top, drawn from figures alone. */
process.env.TZ = 'UTC'
import fc from 'fast-check'
import t from 'tap'
import { drawScreen, drawText } from '../../../bin/top/screen.js'
import { widthOf } from '../../../bin/top/text.js'
import { history, node, NOW, shownOf } from './shown.js'

const PLAIN = { color: false, jumps: false }

/** @type {[columns: number, rows: number, screen: string][]} */
const SCREENS = [
  [100, 30, `
latest  layout ids  valkey 9.1.2  window 60 s  http://127.0.0.1:8080                        14:13:20

▄█  █▀█   █▀█ ▄█  ▀▀█                                                      ▃▃▄▄▄▄▄▅▅▅▅▅▆▆▆▆▆▇▇▇▇▇███
 █  █ █ ▄ █ █  █  ▀▀█                                                      █████████████████████████
▀▀▀ ▀▀▀ ▀ ▀▀▀ ▀▀▀ ▀▀▀                                                 _____█████████████████████████
items/s                     last 72 s, up to 11,900

live ids 100,000   newest 3 ms ago   writers 2   lag 2.1 s

node     address         engine        state        lag     cpu  of a core
primary  127.0.0.1:7000  valkey 9.1.2  up                18.4 %  █▉
replica  127.0.0.1:7001  valkey 9.1.2  connected   3 ms   5.0 %  ▌
replica  127.0.0.1:7002  valkey 9.1.2  lagging    2.1 s  61.0 %  ██████▏

     age  id         value
    3 ms  bus-7      {"stop":12,"lat":52.52}
  120 ms  東京-バス  停留所 👨‍👩‍👧 und weiter
   3.4 s  evil�      ␛[2J␛]0;owned␇ line␊feed
  50.0 s  bytes      base64 //4BAgM=
  59.0 s  ahead      éééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééééé…









 q  quit   ← →  feed 1 of 3   p  pause   /  find an id`],
  [60, 12, `
latest  layout ids  valkey 9.1.2  window 60 s       14:13:20
10,013 items/s                _____▆▆▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇████████
live ids 100,000   newest 3 ms ago   writers 2   lag 2.1 s
node     address         state        lag     cpu  of a core
primary  127.0.0.1:7000  up                18.4 %  █▉
replica  127.0.0.1:7001  connected   3 ms   5.0 %  ▌
replica  127.0.0.1:7002  lagging    2.1 s  61.0 %  ██████▏
     age  id         value
    3 ms  bus-7      {"stop":12,"lat":52.52}
  120 ms  東京-バス  停留所 👨‍👩‍👧 und weiter
   3.4 s  evil�      ␛[2J␛]0;owned␇ line␊feed
 q  quit   ← →  feed 1 of 3   p  pause   /  find an id`],
  [40, 8, `
latest  layout ids              14:13:20
10,013 items/s          ___▆▇▇▇▇▇▇▇▇████
live ids 100,000   newest 3 ms ago
writers 2   lag 2.1 s
node     address         state     cpu
primary  127.0.0.1:7000  up     18.4 %
and 2 more`],
  [20, 4, `
latest      14:13:20
10,013 items/s    ▇█
live ids 100,000
newest 3 ms ago`]
]

for (const [columns, rows, wanted] of SCREENS) {
  t.test(`in ${columns} columns and ${rows} rows`, async (t) => {
    t.equal(drawScreen(shownOf(), { columns, rows, ...PLAIN }).join('\n'), wanted.slice(1))
  })
}

t.test('plain text', async (t) => {
  t.equal(drawText(shownOf(), { columns: 80, items: 3 }).join('\n'), `
latest  layout ids  valkey 9.1.2  window 60 s  http://127.0.0.1:8080    14:13:20

10,013 items/s                  ___▆▇▇▇▇▇▇▇▇████   last 60 s, up to 11,900

live ids 100,000   newest 3 ms ago   writers 2   lag 2.1 s

node     address         engine        state        lag     cpu  of a core
primary  127.0.0.1:7000  valkey 9.1.2  up                18.4 %  █▉
replica  127.0.0.1:7001  valkey 9.1.2  connected   3 ms   5.0 %  ▌
replica  127.0.0.1:7002  valkey 9.1.2  lagging    2.1 s  61.0 %  ██████▏

     age  id         value
    3 ms  bus-7      {"stop":12,"lat":52.52}
  120 ms  東京-バス  停留所 👨‍👩‍👧 und weiter
   3.4 s  evil�      ␛[2J␛]0;owned␇ line␊feed`.slice(1))
})

/** @param {Record<string, any>} figures @param {Record<string, any>} [rest] @param {Record<string, any>} [terminal] */
const drawn = (figures, rest, terminal) => drawScreen(shownOf(figures, rest), { columns: 120, rows: 30, ...PLAIN, ...terminal }).join('\n')

t.test('unknown figures are dashes, and the reasons are below the title', async (t) => {
  const gone = { engine: null, state: 'down', lagMs: null, cpu: null }
  const screen = drawn({
    layout: null,
    partitions: null,
    windowMs: null,
    ready: false,
    reasons: ['REPLICAS_GONE: none of 1 replicas can answer (down)'],
    writers: null,
    itemsPerSecond: null,
    count: null,
    exact: null,
    newestTs: null,
    nodes: [node('primary', 7000, gone), node('replica', 7001, gone)],
    history: []
  }, { items: [] })
  const lines = screen.split('\n')
  t.match(lines[0], /^latest {2}layout unknown {2}engine unknown {2}http/)
  t.equal(lines[1], 'not ready: REPLICAS_GONE: none of 1 replicas can answer (down)')
  t.match(screen, /\nlive ids – {3}newest – {3}writers – {3}lag –\n/)
  t.match(screen, /\nreplica {2}127\.0\.0\.1:7001 {2}– +down +– +–\n/)
})

t.test('no live item, one writer, no replica, an approximate count', async (t) => {
  t.match(drawn({ count: 0, newestTs: null, nodes: [node('primary', 7000)] }, { items: [] }),
    /live ids 0 {3}newest none {3}writers 2 {3}lag no replica/)
  t.match(drawn({ count: 1234, exact: false }), /live ids about 1,234 /)
  t.match(drawn({ newestTs: NOW + 90_000 }, { items: [] }), /newest in 1 min /)
  t.match(drawn({ partitions: 4, windowMs: 0 }), /layout ids {2}4 partitions {2}valkey 9.1.2 {2}no age limit /)
})

t.test('items of the stream may be newer than the figures', async (t) => {
  t.match(drawn({ newestTs: NOW - 900 }), /newest 3 ms ago/)
})

t.test('an unreachable reader, a pause and a lookup are shown', async (t) => {
  t.equal(drawn({}, { troubles: ['the reader does not answer'] }).split('\n')[1], 'the reader does not answer')
  t.match(drawn({}, { isPaused: true }), /14:13:20 paused\n[\s\S]* p {2}resume /)
  t.match(drawn({}, { typed: 'bus-\x1b' }), /\n id: bus-␛ {3}Enter: find/)
  t.match(drawn({}, { found: { id: 'bus-9', item: null, trouble: null } }), /\nlooking for bus-9: \.\.\.\n/)
  t.match(drawn({}, { found: { id: 'bus-9', item: null, trouble: 'ITEM_UNKNOWN: no' } }), /\nlooking for bus-9: ITEM_UNKNOWN: no\n/)
  t.match(drawn({}, { found: { id: 'bus-9', item: { id: 'bus-9', ts: NOW - 2000, value: 'x\x1b[0m' }, trouble: null } }),
    /\nbus-9 {2}2\.0 s old {2}x␛\[0m\n/)
  t.match(drawn({}, { feed: null, figures: null, troubles: ['there is no feed yet'] }), /^no feed .*\nthere is no feed yet\n/)
  t.match(drawn({}, { itemsTrouble: 'newest items not updated' }), /\nnewest items not updated\n +age {2}id/)
})

t.test('messages are wrapped, not cut', async (t) => {
  const reasons = ['REPLICAS_GONE: none of 2 replicas can answer (down, down)']
  t.same(drawn({ ready: false, reasons }, {}, { columns: 40 }).split('\n').slice(1, 3),
    ['not ready: REPLICAS_GONE: none of 2', 'replicas can answer (down, down)'])
})

t.test('many nodes are cut to the room', async (t) => {
  const nodes = [node('primary', 7000), ...Array.from({ length: 40 }, (_, i) => node('replica', 7001 + i))]
  t.match(drawn({ nodes }), /127\.0\.0\.1:7008 .*\nand 32 more\n/)
  t.match(drawText(shownOf({ nodes }), { columns: 80, items: 1 }).join('\n'), /127\.0\.0\.1:7040 /, 'all in plain text')
})

t.test('a chart does not move when the number gets another digit', async (t) => {
  const chartAt = (/** @type {number} */ itemsPerSecond) => drawn({ itemsPerSecond }).split('\n')[4].indexOf('_')
  t.equal(chartAt(9), chartAt(999_999))
})

t.test('colors and jumps are optional', async (t) => {
  t.notOk(drawn({}).includes('\x1b'))
  t.ok(drawn({}, {}, { color: true }).includes('\x1b[32mconnected\x1b[0m'))
  t.ok(drawn({}, {}, { jumps: true }).includes('東京-バス\x1b[20G  停留所'), 'the cursor is moved after wide text')
})

t.test('with any data, lines fit the screen and contain no control characters', async (t) => {
  const seed = Number(process.env.FRESHET_TEST_SEED) || Date.now()
  const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 60 }), fc.string({ unit: 'grapheme', maxLength: 60 }),
    fc.constantFrom('\x1b[2J', '\u009b31m', '👨‍👩‍👧'.repeat(20), '東'.repeat(80)))
  const items = fc.array(fc.record({
    id: text, ts: fc.integer({ min: NOW - 70_000, max: NOW + 5000 }), value: fc.oneof(text, fc.uint8Array({ maxLength: 200 }))
  }), { maxLength: 40 })
  const nodes = fc.array(fc.record({
    role: fc.constantFrom('primary', 'replica'),
    address: text,
    engine: fc.option(text),
    state: text,
    lagMs: fc.option(fc.nat()),
    cpu: fc.option(fc.double({ min: 0, max: 8, noNaN: true }))
  }), { maxLength: 20 })
  const rates = fc.array(fc.option(fc.double({ min: 0, max: 1e8, noNaN: true })), { maxLength: 700 })
  const figures = fc.record({
    nodes,
    reasons: fc.array(text, { maxLength: 3 }),
    ready: fc.boolean(),
    layout: fc.option(text),
    itemsPerSecond: fc.option(fc.double({ min: 0, max: 1e9, noNaN: true })),
    history: rates.map((all) => history(all.length, (i) => all[i]))
  })
  fc.assert(fc.property(figures, fc.record({
    items, feed: text, url: text, typed: fc.option(text), troubles: fc.array(text, { maxLength: 2 })
  }), fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 60 }), (of, rest, columns, rows) => {
    const lines = drawScreen(shownOf(of, rest), { columns, rows, ...PLAIN })
    return lines.length <= rows && lines.every((line) => widthOf(line) <= columns && !/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u.test(line))
  }), { seed, numRuns: 40 })
  t.comment(`seed ${seed}`)
})
