/**
 * The view store against the naive model: both answer the same, whatever is put in whatever order.
 */
import t from 'tap'
import fc from 'fast-check'
import { compareOrder } from '../../../src/item/order.js'
import { createViewStore } from '../../../src/view/store/index.js'
import { holds } from '../../properties.js'
import { Model } from './model.js'

const START = 1_700_000_000_000
const IDS = ['a', 'b', 'c', 'd', 'ab', 'abc', 'é', 'b'.repeat(128), 'item-1', 'item-10', 'item-2', 'z']

const anyPut = fc.record({
  kind: fc.constant('put'),
  id: fc.constantFrom(...IDS),
  late: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: -20, max: 3 }) },
    { weight: 1, arbitrary: fc.integer({ min: -60_000, max: 200 }) }),
  seq: fc.constantFrom(0, 0, 1, 2, 4094, 4095),
  stamp: fc.integer({ min: 0, max: 3 }),
  deleted: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
  length: fc.oneof(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 3000 })),
  fill: fc.integer({ min: 0, max: 2 }),
  isHistory: fc.integer({ min: 0, max: 3 }).map((n) => n === 0)
})
const anyCommand = fc.oneof(
  { weight: 20, arbitrary: anyPut },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('repeat'), which: fc.nat() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('advance'), byMs: fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 0, max: 400 }))
    })
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('forget'), id: fc.constantFrom(...IDS) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('floor'), late: fc.integer({ min: -30, max: -5 }), id: fc.constantFrom(...IDS), isNone: fc.boolean()
    })
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('retention'), windowMs: fc.constantFrom(50, 100, 1000), maxItems: fc.constantFrom(3, 10, 30) })
  }
)
const anyRun = fc.record({
  windowMs: fc.constantFrom(0, 50, 100, 86_400_000),
  maxItems: fc.constantFrom(0, 0, 5, 20),
  boundItems: fc.constantFrom(3, 8, 1000),
  boundBytes: fc.constantFrom(600, 4000, 10_000_000),
  commands: fc.array(anyCommand, { minLength: 1, maxLength: 120 })
})

/** @param {any} item */
const lineOf = ({ id, ts, seq, value }) => `${ts} ${seq} ${id.toString('latin1')} ${value.length} ${value[0]}`

/**
 * @param {any} store
 * @param {number} nowMs
 * @param {number} limit
 * @param {number | null} sinceMs
 * @returns {string[]} everything, page by page
 */
function pagesOf (store, nowMs, limit, sinceMs = null) {
  const lines = []
  let after = null
  do {
    const { next, count } = store.latest({ limit, after, sinceMs, nowMs }, (/** @type {Buffer} */ bytes, /** @type {number} */ idAt,
      /** @type {number} */ idEnd, /** @type {number} */ ts, /** @type {number} */ seq, /** @type {number} */ valueAt,
      /** @type {number} */ valueEnd) => {
      lines.push(lineOf({ id: bytes.subarray(idAt, idEnd), ts, seq, value: bytes.subarray(valueAt, valueEnd) }))
    })
    if (count > limit || (next && count < limit)) lines.push(`a page of ${count}`)
    after = next
  } while (after)
  return lines
}

/** Runs commands on both. @param {any} run @returns {string} what differs, or nothing */
function difference ({ windowMs, maxItems, boundItems, boundBytes, commands }) {
  const store = createViewStore({ windowMs, maxItems, boundItems, boundBytes })
  const model = new Model({ windowMs, maxItems })
  let nowMs = START
  let first = 0
  let last = 0
  /** @type {any[]} */
  const puts = []
  const advance = () => {
    model.advance(nowMs, last)
    store.advance(nowMs, last)
  }
  advance()
  let shown = ''
  for (const [i, command] of commands.entries()) {
    const { revision } = store
    const before = pagesOf(store, nowMs, 1000).join()
    let changed = /** @type {boolean | null} */ (null)
    if (command.kind === 'put' || (command.kind === 'repeat' && puts.length > 0)) {
      const version = command.kind === 'repeat'
        ? puts[command.which % puts.length]
        : {
            id: Buffer.from(command.id),
            ts: windowMs === 0 && command.late < -50_000 ? -command.late : nowMs + command.late,
            seq: command.seq,
            stamp: command.stamp,
            deleted: command.deleted,
            value: Buffer.alloc(command.deleted ? 0 : command.length, 65 + command.fill),
            arrival: command.isHistory ? --first : ++last
          }
      puts.push(version)
      model.put(version)
      const { id, value } = version
      const bytes = Buffer.concat([Buffer.from('junk'), id, Buffer.from('+'), value])
      changed = store.put(bytes, 4, 4 + id.length, version.ts, version.seq, version.stamp, version.deleted, 5 + id.length, bytes.length,
        version.arrival)
    } else if (command.kind === 'advance') {
      nowMs += command.byMs
      advance()
    } else if (command.kind === 'forget') {
      const bytes = Buffer.from(command.id)
      model.forget(bytes)
      changed = store.forget(bytes, 0, bytes.length)
    } else if (command.kind === 'floor') {
      const place = command.isNone ? null : { ts: nowMs + command.late, seq: 1, id: Buffer.from(command.id) }
      model.setFloor(place)
      store.setFloor(place)
    } else if (command.kind === 'retention' && maxItems > 0 && windowMs > 0) {
      model.retention = { windowMs: command.windowMs, maxItems: command.maxItems }
      store.setRetention(model.retention)
      advance()
    }
    const { floor, items, tombstones } = store.stats()
    const wanted = model.newest(nowMs).filter((version) => !floor || compareOrder(version, floor) > 0)
    const visible = wanted.filter(({ deleted }) => !deleted)
    const lines = visible.map(lineOf)
    const after = pagesOf(store, nowMs, 1000).join()
    const isChanged = command.kind !== 'retention' && before !== after
    /** @param {boolean} isRight @param {string} what */
    const check = (isRight, what) => { shown ||= isRight ? '' : `command ${i}, ${command.kind}: ${what}\nwanted ${lines}\ngot    ${after}` }
    check(after === lines.join(), 'everything')
    check(pagesOf(store, nowMs, 2).join() === lines.join(), 'pages of two')
    check(pagesOf(store, nowMs + 10, 3).join() === visible.filter(({ ts }) =>
      !model.retention.windowMs || ts >= nowMs + 10 - model.retention.windowMs).map(lineOf).join(), 'later, without advance')
    check(pagesOf(store, nowMs, 3, nowMs - 10).join() === visible.filter(({ ts }) => ts >= nowMs - 10).map(lineOf).join(), 'since')
    check(store.count(nowMs) === lines.length, `count ${store.count(nowMs)}`)
    check(items + tombstones <= boundItems, 'bound')
    if (command.kind === 'advance') {
      check(items === lines.length && tombstones === wanted.length - lines.length, `${items} items and ${tombstones} tombstones`)
    }
    if (changed !== null) check(changed === isChanged, `said ${changed}`)
    if (command.kind !== 'retention') check((store.revision > revision) === isChanged, `revision ${revision} to ${store.revision}`)
    for (const name of IDS) {
      const id = Buffer.from(name)
      const version = wanted.find((one) => one.id.equals(id))
      const item = store.get(id, nowMs)
      check((item ? lineOf(item) : '') === (version && !version.deleted ? lineOf(version) : ''), `get ${name}`)
      if (version) {
        check(JSON.stringify(store.versionOf(id)) ===
          JSON.stringify({ ts: version.ts, seq: version.seq, stamp: version.stamp, deleted: version.deleted }), `version of ${name}`)
      }
    }
    if (shown) return shown
  }
  return ''
}

t.test('a store and the naive model answer the same after every command', async (t) => {
  let found = ''
  await holds(t, fc.property(anyRun, (run) => {
    const shown = difference(run)
    found = shown || found
    return shown === ''
  }), { runs: 1500 })
  if (found) t.comment(found)
})
