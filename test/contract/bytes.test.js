/**
 * What a batch looks like on the wire, byte for byte: of layout `ids`, then of `values`. Those of the
 * logs: log-bytes.test.js.
 *
 * A process of its own: the stamps of a process never go back (src/layouts/values.js), and these bytes have one of 2023.
 */
import t from 'tap'
import { onlyKey, partitionKey } from '../../src/feeds/keys.js'
import { readMember } from '../../src/item/record.js'
import { layoutNames, layoutOf } from '../../src/layouts/index.js'
import { createOrigin } from '../../src/layouts/log-origin.js'
import { segmentHead } from '../../src/item/segment.js'
import { readScript } from '../../src/store/scripts.js'
import { addTo, gone, item } from './partition.js'
import { commandsIn } from './resp.js'

/** ElastiCache Serverless refuses longer ones. */
const MAX_WORDS = 3999

const { createBatch } = layoutOf('ids')
const dialect = { msetex: true, sha: (/** @type {string} */ name) => readScript(name).sha }
const key = onlyKey('fr:', 'latest')
const ITEMS = [item('bus-7', 1_700_000_000_123, 0, 'hi'), item('é', 1_700_000_000_123, 1, ''), item('old', 7, 4095, '\r\n')]
const HEADS = ['018bcfe5687b0000', '018bcfe5687b0010', '000000000007fff0'].map((hex) => Buffer.from(hex, 'hex').toString('latin1'))

const clock = () => 1_700_000_000_623
const origin = () => createOrigin({ name: 'w', epoch: 7 })

/** @param {Partial<Parameters<typeof createBatch>[0]>} options @param {import('./model.js').Item[]} items */
function encode (options, items) {
  const batch = createBatch({ key, ttlMs: 0, late: 'overwrite', dialect, clock, origin: origin(), ...options })
  for (const one of items) addTo(batch, one)
  return batch.encoded()
}

const utf8 = (/** @type {string} */ text) => Buffer.from(text).toString('latin1')
const keyOf = (/** @type {string} */ id) => utf8(`fr:{latest:0}:item:${id}`)

/** The commands of a batch, but for the entry of its log of arrivals, which is checked. @param {Buffer} bytes @param {number} count */
function without (bytes, count) {
  const commands = commandsIn(bytes)
  const entry = /** @type {string[]} */ (commands.find(([name]) => name === 'XADD'))
  t.same(entry.slice(0, 4), ['XADD', 'fr:{latest:0}:arrivals', 'MAXLEN', '~'])
  t.same(entry.slice(5, 7), ['*', 'a'])
  t.equal(segmentHead(Buffer.from(entry[7], 'latin1')).count, count)
  return commands.map((words) => words === entry ? ENTRY : words)
}
const ENTRY = ['XADD']
const EXPIRE_LOG = ['PEXPIRE', 'fr:{latest:0}:arrivals', '125000']
const SCORES = ['1700000000123', 'bus-7', '1700000000123.0002', utf8('é'), '7.999755859375', 'old']

t.test('with MSETEX and an expiry', async (t) => {
  const { bytes, replies } = encode({ ttlMs: 125_000 }, ITEMS)
  t.same(without(bytes, 3), [
    ['MULTI'],
    ['MSETEX', '3', keyOf('bus-7'), HEADS[0] + 'hi', keyOf('é'), HEADS[1], keyOf('old'), HEADS[2] + '\r\n', 'PX', '125000'],
    ['ZADD', 'fr:{latest:0}:ids', ...SCORES],
    ['PEXPIRE', 'fr:{latest:0}:ids', '125000'],
    ENTRY, EXPIRE_LOG,
    ['EXEC']
  ])
  t.equal(replies, 7)
})

t.test('with MSETEX and none', async (t) => {
  const { bytes, replies } = encode({}, ITEMS)
  t.same(without(bytes, 3), [
    ['MULTI'],
    ['MSET', keyOf('bus-7'), HEADS[0] + 'hi', keyOf('é'), HEADS[1], keyOf('old'), HEADS[2] + '\r\n'],
    ['ZADD', 'fr:{latest:0}:ids', ...SCORES],
    ENTRY,
    ['EXEC']
  ])
  t.equal(replies, 5)
})

t.test('on servers without MSETEX', async (t) => {
  const { bytes, replies } = encode({ ttlMs: 125_000, dialect: { ...dialect, msetex: false } }, ITEMS.slice(0, 2))
  t.same(without(bytes, 2), [
    ['MULTI'],
    ['SET', keyOf('bus-7'), HEADS[0] + 'hi', 'PX', '125000'],
    ['SET', keyOf('é'), HEADS[1], 'PX', '125000'],
    ['ZADD', 'fr:{latest:0}:ids', ...SCORES.slice(0, 4)],
    ['PEXPIRE', 'fr:{latest:0}:ids', '125000'],
    ENTRY, EXPIRE_LOG,
    ['EXEC']
  ])
  t.equal(replies, 8)
})

t.test('with late: newest', async (t) => {
  const { bytes, replies } = encode({ ttlMs: 125_000, late: 'newest' }, ITEMS)
  t.same(without(bytes, 3), [
    ['MULTI'],
    ['EVALSHA', readScript('append-newest').sha, '2', 'fr:{latest:0}:ids', 'fr:{latest:0}:deletions', '3', '125000', '125000', '0',
      keyOf('bus-7'), HEADS[0] + 'hi', keyOf('é'), HEADS[1], keyOf('old'), HEADS[2] + '\r\n', 'PX', '125000', ...SCORES],
    ENTRY, EXPIRE_LOG,
    ['EXEC']
  ])
  t.equal(replies, 5)
  const apart = encode({ ttlMs: 125_000, late: 'newest', dialect: { ...dialect, msetex: false } }, ITEMS)
  t.same(without(apart.bytes, 3), [
    ['MULTI'],
    ['EVALSHA', readScript('append-newest').sha, '5', 'fr:{latest:0}:ids', 'fr:{latest:0}:deletions',
      keyOf('bus-7'), keyOf('é'), keyOf('old'), '3', '125000', '125000', '0',
      HEADS[0] + 'hi', HEADS[1], HEADS[2] + '\r\n', 'PX', '125000', ...SCORES],
    ENTRY, EXPIRE_LOG,
    ['EXEC']
  ], 'all keys are named')
})

const DAY_MS = '86400000'
/** b goes and comes back, bus-7 goes for good */
const REMOVALS = [gone('b', 7), item('b', 7, 1, 'x'), item('bus-7', 7, 2, 'y'), gone('bus-7', 1_700_000_000_123)]
const REMOVED = ['0000000000070001', '0000000000070010', '0000000000070020', '018bcfe5687b0001'].map((hex) =>
  Buffer.from(hex, 'hex').toString('latin1'))
const REMOVED_SCORES = ['7', 'b', '7.000244140625', 'b', '7.00048828125', 'bus-7', '1700000000123', 'bus-7']

t.test('with deletions: the last operation on an id decides whether it leaves the set', async (t) => {
  const { bytes, replies } = encode({ ttlMs: 125_000 }, REMOVALS)
  t.same(without(bytes, 4), [
    ['MULTI'],
    ['MSETEX', '4', keyOf('b'), REMOVED[0], keyOf('b'), REMOVED[1] + 'x', keyOf('bus-7'), REMOVED[2] + 'y', keyOf('bus-7'), REMOVED[3],
      'PX', '125000'],
    ['ZADD', 'fr:{latest:0}:ids', ...REMOVED_SCORES],
    ['ZREM', 'fr:{latest:0}:ids', 'bus-7'],
    ['PEXPIRE', 'fr:{latest:0}:ids', '125000'],
    ENTRY, EXPIRE_LOG,
    ['EXEC']
  ])
  t.equal(replies, 8)
})

t.test('with deletions and no age limit, a tombstone expires after a day', async (t) => {
  const both = encode({}, REMOVALS)
  t.same(without(both.bytes, 4).slice(2), [
    ['ZADD', 'fr:{latest:0}:ids', ...REMOVED_SCORES],
    ['ZREM', 'fr:{latest:0}:ids', 'bus-7'],
    ['PEXPIRE', keyOf('bus-7'), DAY_MS],
    ENTRY,
    ['EXEC']
  ])
  t.equal(both.replies, 7)
  const separate = encode({ dialect: { ...dialect, msetex: false } }, REMOVALS)
  t.same(without(separate.bytes, 4), [
    ['MULTI'],
    ['SET', keyOf('b'), REMOVED[0], 'PX', DAY_MS], ['SET', keyOf('b'), REMOVED[1] + 'x'],
    ['SET', keyOf('bus-7'), REMOVED[2] + 'y'], ['SET', keyOf('bus-7'), REMOVED[3], 'PX', DAY_MS],
    ['ZADD', 'fr:{latest:0}:ids', ...REMOVED_SCORES],
    ['ZREM', 'fr:{latest:0}:ids', 'bus-7'],
    ENTRY,
    ['EXEC']
  ])
  t.equal(separate.replies, 9)
  const script = encode({ late: 'newest' }, REMOVALS.slice(0, 1))
  t.same(commandsIn(script.bytes).map((words) => words.slice(0, 1)), [['MULTI'], ['EVALSHA'], ['XADD'], ['EXEC']])
  t.same(commandsIn(script.bytes)[1].slice(5), ['1', '0', DAY_MS, '1', keyOf('b'), REMOVED[0], '7', 'b'])
  t.equal(script.replies, 4)
})

/** What stands around the entry of a batch of one item, whose stamp differs in each process. @param {Buffer} bytes */
const entryOfOne = (bytes) => [
  '*8\r\n$4\r\nXADD\r\n$22\r\nfr:{latest:0}:arrivals\r\n$6\r\nMAXLEN\r\n$1\r\n~\r\n$6\r\n153919\r\n$1\r\n*\r\n$1\r\na\r\n',
  `$69\r\n${commandsIn(bytes).find(([name]) => name === 'XADD')?.[7]}\r\n`,
  '*3\r\n$7\r\nPEXPIRE\r\n$22\r\nfr:{latest:0}:arrivals\r\n$6\r\n125000\r\n'
]

t.test('the bytes of a batch of one item are these', async (t) => {
  const { bytes } = encode({ ttlMs: 125_000 }, [item('a', 1_700_000_000_123, 5, 'v')])
  t.equal(bytes.toString('latin1'), [
    '*1\r\n$5\r\nMULTI\r\n',
    '*6\r\n$6\r\nMSETEX\r\n$1\r\n1\r\n$20\r\nfr:{latest:0}:item:a\r\n$9\r\n\x01\x8b\xcf\xe5\x68\x7b\x00\x50v\r\n' +
      '$2\r\nPX\r\n$6\r\n125000\r\n',
    '*4\r\n$4\r\nZADD\r\n$17\r\nfr:{latest:0}:ids\r\n$18\r\n1700000000123.0012\r\n$1\r\na\r\n',
    '*3\r\n$7\r\nPEXPIRE\r\n$17\r\nfr:{latest:0}:ids\r\n$6\r\n125000\r\n',
    ...entryOfOne(bytes),
    '*1\r\n$4\r\nEXEC\r\n'
  ].join(''))
})

const STAMP_MS = 2 ** 41
const values = layoutOf('values')
t.test('values: the bytes of a batch of one item are these', async (t) => {
  const ts = 1_700_000_000_123
  const batch = values.createBatch({ key, ttlMs: 125_000, late: 'overwrite', dialect, clock: () => ts + 500, origin: origin() })
  batch.add(Buffer.from('a'), ts, 5, Buffer.from('v'))
  const stamp = Buffer.from(((ts + 500) * 1000 + 1).toString(16).padStart(14, '0'), 'hex').toString('latin1')
  const { bytes } = batch.encoded()
  t.equal(bytes.toString('latin1'), [
    '*1\r\n$5\r\nMULTI\r\n',
    `*4\r\n$4\r\nZADD\r\n$20\r\nfr:{latest:0}:values\r\n$18\r\n1700000000123.0012\r\n$11\r\na\x00${stamp}\x00v\r\n`,
    '*3\r\n$7\r\nPEXPIRE\r\n$20\r\nfr:{latest:0}:values\r\n$6\r\n125000\r\n',
    ...entryOfOne(bytes),
    '*1\r\n$4\r\nEXEC\r\n'
  ].join(''))
})

/** A batch whose first append is at the next ms of a clock that only goes on. */
const encodeValues = (() => {
  let lastMs = STAMP_MS - 1
  return (/** @type {number} */ ttlMs, /** @type {import('./model.js').Item[]} */ items) => {
    const nowMs = ++lastMs
    const batch = values.createBatch({ key, ttlMs, late: 'overwrite', dialect, clock: () => nowMs, origin: origin() })
    for (const one of items) addTo(batch, one)
    return batch.encoded()
  }
})()

t.test('values: one ZADD, the expiry of its key, and the entry of the log of arrivals', async (t) => {
  // 2^41 ms in microseconds, and one more for each append
  const head = (/** @type {number} */ appended, flags = '00') =>
    Buffer.from('00' + (STAMP_MS * 1000 + appended).toString(16).padStart(14, '0') + flags, 'hex').toString('latin1')
  const first = encodeValues(125_000, [...ITEMS, gone('bus-7', 8)])
  t.same(without(first.bytes, 4), [
    ['MULTI'],
    ['ZADD', 'fr:{latest:0}:values', SCORES[0], 'bus-7' + head(1) + 'hi', SCORES[2], utf8('é') + head(2), SCORES[4],
      'old' + head(3) + '\r\n', '8', 'bus-7' + head(4, '01')],
    ['PEXPIRE', 'fr:{latest:0}:values', '125000'],
    ENTRY, EXPIRE_LOG,
    ['EXEC']
  ])
  t.equal(first.replies, 6)
  const second = encodeValues(0, ITEMS.slice(0, 1))
  t.same(without(second.bytes, 1), [
    ['MULTI'],
    ['ZADD', 'fr:{latest:0}:values', SCORES[0], 'bus-7' + head(1001) + 'hi'],
    ENTRY,
    ['EXEC']
  ])
  t.equal(second.replies, 4)
})

t.test('values: no two appends of a process share a stamp, and none goes back', async (t) => {
  const clocks = [STAMP_MS * 2, STAMP_MS * 2, STAMP_MS, STAMP_MS * 2 + 0.5]
  const batches = clocks.map((now) => values.createBatch({ key, ttlMs: 0, late: 'overwrite', dialect, clock: () => now }))
  /** @type {number[]} by append */
  const stamps = []
  for (let round = 0; round < 3; round++) {
    for (let i = 0; i < 10; i++) batches[i * 7 % 4].add(Buffer.from(String(round * 10 + i)), 7, 0, Buffer.from('v'))
    for (const batch of batches) {
      const [, words] = commandsIn(batch.encoded().bytes)
      for (let i = 3; i < words.length; i += 2) {
        const { id, stamp } = readMember(Buffer.from(words[i], 'latin1'))
        stamps[Number(id)] = stamp
      }
      batch.reset()
    }
  }
  t.equal(stamps.length, 30)
  t.ok(stamps.every((stamp, i) => i === 0 || stamp > stamps[i - 1]), stamps.join(' '))
})

t.test('a batch that is used again carries nothing of before', async (t) => {
  for (const late of /** @type {const} */ (['overwrite', 'newest'])) {
    const of = origin()
    const batch = createBatch({ key, ttlMs: 1000, late, dialect, clock, origin: of })
    batch.add(Buffer.from('gone'), 1, 2, Buffer.alloc(1000))
    batch.remove(Buffer.from('gone'), 1, 3)
    batch.encoded()
    batch.reset()
    t.equal(batch.count, 0)
    batch.add(ITEMS[0].id, ITEMS[0].ts, ITEMS[0].seq, ITEMS[0].value)
    const { bytes } = batch.encoded()
    // all but the entry, which has a number of its own
    const same = (/** @type {Buffer} */ some) => without(some, 1).join()
    t.equal(same(bytes), same(encode({ ttlMs: 1000, late }, [ITEMS[0]]).bytes))
    t.equal(batch.encoded().bytes.toString('latin1'), bytes.toString('latin1'), 'encoding twice changes nothing')
  }
})

t.test('values: a batch that is used again carries nothing of before', async (t) => {
  const batch = values.createBatch({ key, ttlMs: 1000, late: 'overwrite', dialect })
  batch.add(Buffer.from('before'), 1, 2, Buffer.alloc(1000))
  batch.encoded()
  batch.reset()
  t.equal(batch.count, 0)
  addTo(batch, ITEMS[0])
  const { bytes } = batch.encoded()
  t.same(commandsIn(bytes).map(([name]) => name), ['MULTI', 'ZADD', 'PEXPIRE', 'XADD', 'PEXPIRE', 'EXEC'])
  t.equal(batch.encoded().bytes.toString('latin1'), bytes.toString('latin1'), 'encoding twice changes nothing')
})

t.test('a batch copies ids and values', async (t) => {
  for (const name of layoutNames()) {
    const origin = createOrigin({ name: 'w', epoch: 7 })
    const batch = layoutOf(name).createBatch({ key, ttlMs: 0, late: 'overwrite', dialect, origin })
    const id = Buffer.from('bus-7')
    const value = Buffer.alloc(100, 'v')
    batch.add(id, 1, 0, value)
    id.fill('x')
    value.fill('x')
    const text = batch.encoded().bytes.toString()
    t.ok(text.includes('bus-7') && text.includes('v'.repeat(100)) && !text.includes('xx'), name)
  }
})

t.test('full batches under the longest names fit a request of every server', async (t) => {
  const longest = partitionKey('p'.repeat(32), { feed: 'f'.repeat(64), partitions: 1024 }, 1023)
  for (const options of [{}, { ttlMs: 2 ** 41 }, { ttlMs: 2 ** 41, late: /** @type {const} */ ('newest') },
    { ttlMs: 2 ** 41, dialect: { ...dialect, msetex: false } }]) {
    for (const { createBatch, describe } of layoutNames().map(layoutOf)) {
      const batch = createBatch({ key: longest, ttlMs: 0, late: 'overwrite', dialect, ...options })
      t.ok(batch.maxItems <= describe().maxBatchItems)
      for (const one of [item, gone]) {
        batch.reset()
        for (let i = 0; i < batch.maxItems; i++) addTo(batch, one(String(i).padEnd(128, 'x'), 2 ** 41 - 1, 4095))
        const longestCommand = commandsIn(batch.encoded().bytes).reduce((a, b) => a.length > b.length ? a : b)
        t.ok(longestCommand.length <= MAX_WORDS, `${longestCommand[0]} has ${longestCommand.length} words`)
      }
    }
  }
})
