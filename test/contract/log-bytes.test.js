/**
 * What a batch of a log looks like on the wire, byte for byte, and what stands around its entries.
 */
import t from 'tap'
import { onlyKey } from '../../src/feeds/keys.js'
import { layoutOf } from '../../src/layouts/index.js'
import { createOrigin } from '../../src/layouts/log-origin.js'
import { addTo, gone, item } from './partition.js'
import { commandsIn } from './resp.js'

const dialect = { msetex: true, sha: () => '' }
const key = onlyKey('fr:', 'latest')
const ITEMS = [item('bus-7', 1_700_000_000_123, 0, 'hi'), item('é', 1_700_000_000_123, 1, ''), item('old', 7, 4095, '\r\n')]
/** sha256 of 'w', the first 8 bytes */
const WRITER = '50e721e49c013f00'
const NOW = 2 ** 41
/** @param {string} name @param {any} options @param {number} [serverMs] */
function logBatch (name, options, serverMs = NOW) {
  const origin = createOrigin({ name: 'w', epoch: 7, serverMs: () => serverMs })
  return layoutOf(name).createBatch({ key, ttlMs: 125_000, late: 'overwrite', dialect, clock: () => NOW * 2, origin, ...options })
}
const latin1 = (/** @type {string[]} */ ...hex) => Buffer.from(hex.join(''), 'hex').toString('latin1')
const EXPIRIES = (/** @type {string} */ part) => [part, 'appended', 'ahead'].map((one) => ['PEXPIRE', `fr:{latest:0}:${one}`, '125000'])

t.test('segments: one XADD of all items, counted where the feed keeps a number of versions', async (t) => {
  const batch = logBatch('segments', { maxItems: 5 })
  addTo(batch, item('a', 1_700, 5, 'v'))
  addTo(batch, gone('b', 7, 1))
  const items = ['00000000 06a4 0050 01 000001 61 76', '000000000007 0011 01 000000 62'].join('').replaceAll(' ', '')
  const [multi, xadd, ...rest] = commandsIn(batch.encoded().bytes)
  t.same(multi, ['MULTI'])
  t.same(xadd.slice(0, 4), ['XADD', 'fr:{latest:0}:segments', '*', 's'])
  const stamp = Buffer.from(xadd[4], 'latin1').toString('hex', 34, 41)
  t.equal(xadd[4].slice(0, 4), latin1('46534701'))
  t.equal(xadd[4].slice(12),
    latin1('00', '00', '00000002', '0000001b', '000000000007', '0000000006a4', stamp, WRITER, '00000007', '000000000001', items))
  t.same(rest, [['INCRBY', 'fr:{latest:0}:appended', '2'], ...EXPIRIES('segments'), ['EXEC']])
  t.equal(batch.encoded().replies, 6)
})

t.test('stream: an XADD for each item', async (t) => {
  const batch = logBatch('stream', { maxItems: 5 })
  addTo(batch, item('a', 1_700, 5, 'v'))
  addTo(batch, gone('b', 7, 1))
  const { bytes, replies } = batch.encoded()
  const [multi, first, second, ...rest] = commandsIn(bytes)
  t.same([multi, ...rest], [['MULTI'], ['INCRBY', 'fr:{latest:0}:appended', '2'], ...EXPIRIES('stream'), ['EXEC']])
  t.equal(replies, 8)
  const stamps = [first, second].map((words) => Buffer.from(words[4], 'latin1').readUIntBE(6, 6))
  t.equal(stamps[1], stamps[0] + 1)
  for (const [words, tail] of [[first, '000000000001' + '0000000006a40050' + '01' + '6176'],
    [second, '000000000002' + '0000000000070011' + '01' + '62']]) {
    t.same(words.slice(0, 4), ['XADD', 'fr:{latest:0}:stream', '*', 'v'])
    t.equal(words[4].slice(12), latin1(WRITER, '00000007', /** @type {string} */ (tail)))
  }
})

for (const name of ['segments', 'stream']) {
  t.test(`${name}: sent again it brings the same entries and counts nothing; used again it carries nothing of before`, async (t) => {
    let elapsedMs = 0
    const origin = createOrigin({ name: 'w', epoch: 7, serverMs: () => NOW, elapsed: () => elapsedMs })
    const batch = logBatch(name, { maxItems: 5, origin })
    for (const one of ITEMS) addTo(batch, one)
    const words = (/** @type {{ bytes: Buffer, replies: number }} */ { bytes, replies }) => {
      const commands = commandsIn(bytes)
      t.equal(replies, commands.length)
      return commands
    }
    const first = words(batch.encoded())
    const again = words(batch.encoded())
    t.same(again, first.filter(([command]) => command !== 'INCRBY'))
    t.same(words(batch.encoded()), again)
    batch.reset()
    addTo(batch, ITEMS[0])
    const full = Object.assign(new Error('OOM'), { outcome: 'full' })
    const lost = Object.assign(new Error('lost'), { outcome: 'over' })
    const counts = []
    for (const error of [full, full, lost, full, null, null]) {
      /** @type {any} */
      const connection = {
        async sendEncoded ({ bytes } = { bytes: Buffer.alloc(0) }) {
          counts.push(commandsIn(bytes).some(([command]) => command === 'INCRBY'))
          if (error) throw error
        }
      }
      await layoutOf(name).append(connection, batch).catch(() => {})
    }
    t.same(counts, [true, true, true, false, false, false], 'counted until it may be stored')
    batch.reset()
    t.equal(batch.count, 0)
    addTo(batch, ITEMS[0])
    const next = words(batch.encoded())
    t.same(next.map(([command]) => command), ['MULTI', 'XADD', 'INCRBY', 'EXEC'], 'how long keys live is said once a second')
    batch.reset()
    elapsedMs += 1000
    addTo(batch, ITEMS[0])
    t.same(words(batch.encoded()).map(([command]) => command), ['MULTI', 'XADD', 'INCRBY', 'PEXPIRE', 'PEXPIRE', 'PEXPIRE', 'EXEC'])
    const shorter = logBatch(name, { maxItems: 5, ttlMs: 1000, origin })
    addTo(shorter, ITEMS[0])
    t.same(words(shorter.encoded()).filter(([command]) => command === 'PEXPIRE').map((one) => one[2]), ['1000', '1000', '1000'],
      'and at once when it changes')
    t.not(next[1][4], first[1][4], 'and is another writing')
    const plain = logBatch(name, { ttlMs: 0 })
    addTo(plain, ITEMS[0])
    t.same(words(plain.encoded()).map(([command]) => command), ['XADD'], 'without an age limit or a number it goes alone')
  })

  t.test(`${name}: how far items are ahead of the server is said before they are stored, until it is stored, then once a ` +
    'minute', async (t) => {
    let serverMs = 60_000 * 1000
    const origin = createOrigin({ name: 'w', epoch: 7, serverMs: () => serverMs })
    const batch = layoutOf(name).createBatch({ key, ttlMs: 0, late: 'overwrite', dialect, origin })
    /** @param {number} ts @param {{ stored?: boolean }} [options] */
    const said = async (ts, { stored = true } = {}) => {
      batch.reset()
      addTo(batch, item('a', 5))
      addTo(batch, item('a', ts))
      addTo(batch, item('a', 6))
      /** @type {any} */
      const connection = { sendEncoded: async () => { if (!stored) throw new Error('lost') } }
      const commands = commandsIn(batch.encoded().bytes)
      await layoutOf(name).append(connection, batch).catch(() => {})
      return commands.find(([command]) => command === 'ZADD')?.slice(1).join(' ') ?? null
    }
    const zadd = (/** @type {number} */ ms, until = 60_000 * 1002) => `fr:{latest:0}:ahead GT ${ms} ${until}:${WRITER}`
    t.equal(await said(serverMs), null)
    t.equal(await said(serverMs + 1, { stored: false }), zadd(10))
    t.equal(await said(serverMs + 1), zadd(10), 'again, as it was lost')
    t.equal(await said(serverMs + 10), null)
    t.equal(await said(serverMs + 11), zadd(20))
    t.equal(await said(serverMs + 1281), zadd(2560))
    t.equal(await said(serverMs + 2560), null)
    serverMs += 60_000
    t.equal(await said(serverMs + 3), zadd(10, 60_000 * 1003), 'each minute has its own')
    origin.forget()
    t.equal(await said(serverMs + 3), zadd(10, 60_000 * 1003), 'it is sent again to another server')
  })
}
