/**
 * What a batch of layout `ids` looks like on the wire, byte for byte.
 */
import t from 'tap'
import { partitionKey } from '../../src/feeds/keys.js'
import { layoutOf } from '../../src/layouts/index.js'
import { readScript } from '../../src/store/scripts.js'
import { addTo, gone, item } from './partition.js'

/** ElastiCache Serverless refuses longer ones. */
const MAX_WORDS = 3999

const { createBatch } = layoutOf('ids')
const dialect = { msetex: true, sha: (/** @type {string} */ name) => readScript(name).sha }
const key = partitionKey('fr:', 'latest', 0)
const ITEMS = [item('bus-7', 1_700_000_000_123, 0, 'hi'), item('é', 1_700_000_000_123, 1, ''), item('old', 7, 4095, '\r\n')]
const HEADS = ['018bcfe5687b0000', '018bcfe5687b0010', '000000000007fff0'].map((hex) => Buffer.from(hex, 'hex').toString('latin1'))

/** @param {Partial<Parameters<typeof createBatch>[0]>} options @param {import('./model.js').Item[]} items */
function encode (options, items) {
  const batch = createBatch({ key, ttlMs: 0, late: 'overwrite', dialect, ...options })
  for (const one of items) addTo(batch, one)
  return batch.encoded()
}

/** Reads commands back, the plain way. @param {Buffer} bytes @returns {string[][]} as latin1 */
function commandsIn (bytes) {
  const commands = []
  let at = 0
  const line = () => {
    const end = bytes.indexOf('\r\n', at)
    const text = bytes.toString('latin1', at, end)
    at = end + 2
    return text
  }
  while (at < bytes.length) {
    const words = Array.from({ length: Number(/^\*(\d+)$/.exec(line())?.[1]) }, () => {
      const length = Number(/^\$(\d+)$/.exec(line())?.[1])
      const word = bytes.toString('latin1', at, at + length)
      at += length
      if (line() !== '') throw new Error(`a word does not end at ${at}`)
      return word
    })
    if (words.length === 0) throw new Error(`no command at ${at}`)
    commands.push(words)
  }
  return commands
}

const utf8 = (/** @type {string} */ text) => Buffer.from(text).toString('latin1')
const keyOf = (/** @type {string} */ id) => utf8(`fr:{latest:0}:item:${id}`)
const SCORES = ['1700000000123', 'bus-7', '1700000000123.0002', utf8('é'), '7.999755859375', 'old']

t.test('with MSETEX and an expiry', async (t) => {
  const { bytes, replies } = encode({ ttlMs: 125_000 }, ITEMS)
  t.same(commandsIn(bytes), [
    ['MULTI'],
    ['MSETEX', '3', keyOf('bus-7'), HEADS[0] + 'hi', keyOf('é'), HEADS[1], keyOf('old'), HEADS[2] + '\r\n', 'PX', '125000'],
    ['ZADD', 'fr:{latest:0}:ids', ...SCORES],
    ['PEXPIRE', 'fr:{latest:0}:ids', '125000'],
    ['EXEC']
  ])
  t.equal(replies, 5)
})

t.test('with MSETEX and none', async (t) => {
  const { bytes, replies } = encode({}, ITEMS)
  t.same(commandsIn(bytes), [
    ['MULTI'],
    ['MSET', keyOf('bus-7'), HEADS[0] + 'hi', keyOf('é'), HEADS[1], keyOf('old'), HEADS[2] + '\r\n'],
    ['ZADD', 'fr:{latest:0}:ids', ...SCORES],
    ['EXEC']
  ])
  t.equal(replies, 4)
})

t.test('on servers without MSETEX', async (t) => {
  const { bytes, replies } = encode({ ttlMs: 125_000, dialect: { ...dialect, msetex: false } }, ITEMS.slice(0, 2))
  t.same(commandsIn(bytes), [
    ['MULTI'],
    ['SET', keyOf('bus-7'), HEADS[0] + 'hi', 'PX', '125000'],
    ['SET', keyOf('é'), HEADS[1], 'PX', '125000'],
    ['ZADD', 'fr:{latest:0}:ids', ...SCORES.slice(0, 4)],
    ['PEXPIRE', 'fr:{latest:0}:ids', '125000'],
    ['EXEC']
  ])
  t.equal(replies, 6)
})

t.test('with late: drop', async (t) => {
  const { bytes, replies } = encode({ ttlMs: 125_000, late: 'drop' }, ITEMS)
  t.same(commandsIn(bytes), [
    ['EVALSHA', readScript('append-ids').sha, '4', 'fr:{latest:0}:ids', keyOf('bus-7'), keyOf('é'), keyOf('old'),
      String('fr:{latest:0}:item:'.length), '125000', '125000', HEADS[0] + 'hi', HEADS[1], HEADS[2] + '\r\n']
  ])
  t.equal(replies, 1)
})

const DAY_MS = '86400000'
/** b goes and comes back, bus-7 goes for good */
const REMOVALS = [gone('b', 7), item('b', 7, 1, 'x'), item('bus-7', 7, 2, 'y'), gone('bus-7', 1_700_000_000_123)]
const REMOVED = ['0000000000070001', '0000000000070010', '0000000000070020', '018bcfe5687b0001'].map((hex) => Buffer.from(hex, 'hex').toString('latin1'))
const REMOVED_SCORES = ['7', 'b', '7.000244140625', 'b', '7.00048828125', 'bus-7', '1700000000123', 'bus-7']

t.test('with deletions: what leaves the set is what the last operation on an id says', async (t) => {
  const { bytes, replies } = encode({ ttlMs: 125_000 }, REMOVALS)
  t.same(commandsIn(bytes), [
    ['MULTI'],
    ['MSETEX', '4', keyOf('b'), REMOVED[0], keyOf('b'), REMOVED[1] + 'x', keyOf('bus-7'), REMOVED[2] + 'y', keyOf('bus-7'), REMOVED[3], 'PX', '125000'],
    ['ZADD', 'fr:{latest:0}:ids', ...REMOVED_SCORES],
    ['ZREM', 'fr:{latest:0}:ids', 'bus-7'],
    ['PEXPIRE', 'fr:{latest:0}:ids', '125000'],
    ['EXEC']
  ])
  t.equal(replies, 6)
})

t.test('with deletions and no age limit, a tombstone expires after a day', async (t) => {
  const both = encode({}, REMOVALS)
  t.same(commandsIn(both.bytes).slice(2), [
    ['ZADD', 'fr:{latest:0}:ids', ...REMOVED_SCORES],
    ['ZREM', 'fr:{latest:0}:ids', 'bus-7'],
    ['PEXPIRE', keyOf('bus-7'), DAY_MS],
    ['EXEC']
  ])
  t.equal(both.replies, 6)
  const separate = encode({ dialect: { ...dialect, msetex: false } }, REMOVALS)
  t.same(commandsIn(separate.bytes), [
    ['MULTI'],
    ['SET', keyOf('b'), REMOVED[0], 'PX', DAY_MS], ['SET', keyOf('b'), REMOVED[1] + 'x'],
    ['SET', keyOf('bus-7'), REMOVED[2] + 'y'], ['SET', keyOf('bus-7'), REMOVED[3], 'PX', DAY_MS],
    ['ZADD', 'fr:{latest:0}:ids', ...REMOVED_SCORES],
    ['ZREM', 'fr:{latest:0}:ids', 'bus-7'],
    ['EXEC']
  ])
  t.equal(separate.replies, 8)
  const script = encode({ late: 'drop' }, REMOVALS.slice(0, 1))
  t.same(commandsIn(script.bytes)[0].slice(4), [keyOf('b'), String('fr:{latest:0}:item:'.length), '0', DAY_MS, REMOVED[0]])
})

t.test('the bytes of a batch of one item are these', async (t) => {
  t.equal(encode({ ttlMs: 125_000 }, [item('a', 1_700_000_000_123, 5, 'v')]).bytes.toString('latin1'), [
    '*1\r\n$5\r\nMULTI\r\n',
    '*6\r\n$6\r\nMSETEX\r\n$1\r\n1\r\n$20\r\nfr:{latest:0}:item:a\r\n$9\r\n\x01\x8b\xcf\xe5\x68\x7b\x00\x50v\r\n$2\r\nPX\r\n$6\r\n125000\r\n',
    '*4\r\n$4\r\nZADD\r\n$17\r\nfr:{latest:0}:ids\r\n$18\r\n1700000000123.0012\r\n$1\r\na\r\n',
    '*3\r\n$7\r\nPEXPIRE\r\n$17\r\nfr:{latest:0}:ids\r\n$6\r\n125000\r\n',
    '*1\r\n$4\r\nEXEC\r\n'
  ].join(''))
})

t.test('a batch that is used again carries nothing of before', async (t) => {
  for (const late of /** @type {const} */ (['overwrite', 'drop'])) {
    const batch = createBatch({ key, ttlMs: 1000, late, dialect })
    batch.add(Buffer.from('gone'), 1, 2, Buffer.alloc(1000))
    batch.remove(Buffer.from('gone'), 1, 3)
    batch.encoded()
    batch.reset()
    t.equal(batch.count, 0)
    batch.add(ITEMS[0].id, ITEMS[0].ts, ITEMS[0].seq, ITEMS[0].value)
    const { bytes } = batch.encoded()
    t.equal(bytes.toString('latin1'), encode({ ttlMs: 1000, late }, [ITEMS[0]]).bytes.toString('latin1'))
    t.equal(batch.encoded().bytes.toString('latin1'), bytes.toString('latin1'), 'encoding twice changes nothing')
  }
})

t.test('a batch copies ids and values', async (t) => {
  const batch = createBatch({ key, ttlMs: 0, late: 'overwrite', dialect })
  const id = Buffer.from('bus-7')
  const value = Buffer.alloc(100, 'v')
  batch.add(id, 1, 0, value)
  id.fill('x')
  value.fill('x')
  const text = batch.encoded().bytes.toString()
  t.ok(text.includes('item:bus-7') && text.includes('v'.repeat(100)) && !text.includes('xx'))
})

t.test('full batches under the longest names fit a request of every server', async (t) => {
  const longest = partitionKey('p'.repeat(32), 'f'.repeat(64), 1023)
  for (const options of [{}, { ttlMs: 2 ** 41 }, { ttlMs: 2 ** 41, late: /** @type {const} */ ('drop') }, { ttlMs: 2 ** 41, dialect: { ...dialect, msetex: false } }]) {
    const batch = createBatch({ key: longest, ttlMs: 0, late: 'overwrite', dialect, ...options })
    t.ok(batch.maxItems <= layoutOf('ids').describe().maxBatchItems)
    for (const one of [item, gone]) {
      batch.reset()
      for (let i = 0; i < batch.maxItems; i++) addTo(batch, one(String(i).padEnd(128, 'x'), 2 ** 41 - 1, 4095))
      const longestCommand = commandsIn(batch.encoded().bytes).reduce((a, b) => a.length > b.length ? a : b)
      t.ok(longestCommand.length <= MAX_WORDS, `${longestCommand[0]} has ${longestCommand.length} words`)
    }
  }
})
