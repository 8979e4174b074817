/** Streams of a hub that resume, or begin at a point of the log, while servers fail or the view is rebuilt. */
import { setTimeout as sleep } from 'node:timers/promises'
import pino from 'pino'
import t from 'tap'
import { FreshetError } from '../../src/errors.js'
import { encodeOffsets, readIdFilter } from '../../src/item/index.js'
import { createBudget } from '../../src/push/caps.js'
import { createHub } from '../../src/push/hub.js'
import { createCounts } from '../../src/push/metrics.js'
import { Part, severalOf } from '../../src/push/several.js'
import { eventually } from '../servers.js'
import { createClient, createCountingView } from './hub-parts.js'

const IDS = Array.from({ length: 30 }, (_, n) => `id-${n}`)

/**
 * A view whose positions are those of a feed, and the log that it was read from: the entry `n` of a log has the id `n` put there.
 * @param {{ fail?: () => string | null, isIndex?: boolean, isEmpty?: () => boolean, idsOf?: (id: string) => string[] }} [server]
 *   `fail`: the code with which reading the log fails; `isIndex`: it is a log of arrivals; `isEmpty`: its node has nothing of it;
 *   `idsOf`: all ids of the entry with that one
 */
function createLoggedView ({ fail = () => null, isIndex = false, isEmpty = () => false, idsOf = (id) => [id] } = {}) {
  const view = createCountingView()
  const definition = { feed: 'f', layout: 'segments', partitions: 1, windowMs: 0, maxItems: 0, createdAt: new Date(1000).toISOString() }
  /** @type {string[]} */
  const ids = []
  /** @type {any} */
  let watcher = null
  const { watch, put } = view
  const position = () => encodeOffsets('f', { readMs: 5, offsets: [{ ms: 5, n: ids.length, versions: 0, isEnd: true }] }, 1000)
  const log = {
    part: 'log',
    isIndex,
    head: () => ({ count: 1 }),
    each: (/** @type {Buffer} */ bytes, /** @type {any} */ visit) => {
      for (const id of idsOf(String(bytes)).map((text) => Buffer.from(text))) visit(id, 0, id.length)
    }
  }
  const connection = {
    async send (/** @type {any[]} */ ...words) {
      const entries = isEmpty() ? [] : ids.map((id, i) => [Buffer.from(`5-${i + 1}`), [Buffer.from('b'), Buffer.from(id)]])
      if (words[0] === 'XREVRANGE') return entries.reverse().slice(0, 1)
      const [ms, n] = String(words.at(-1)).split('-').map(Number)
      const behind = ms < 5 ? entries : entries.slice(n)
      return behind.length === 0 ? null : [['log', behind]]
    }
  }
  return {
    view: Object.assign(view, {
      definition,
      position,
      takePosition: () => position,
      watch: (/** @type {any} */ one) => watch(watcher = one),
      put (/** @type {string} */ id) {
        ids.push(id)
        put.call(view, id)
      }
    }),
    rebuilt: () => watcher.rebuilt(),
    queries: /** @type {any} */ ({
      async ofLog (/** @type {string} */ _feed, /** @type {any} */ read) {
        const code = fail()
        if (code !== null) throw new FreshetError(code)
        return read(connection, { definition, log, keys: [(/** @type {string} */ part) => part] })
      }
    })
  }
}

/** @param {Pick<ReturnType<typeof createLoggedView>, 'view' | 'queries'>} logged @param {ReturnType<typeof createBudget>} budget */
const hubOf = ({ view, queries }, budget) => createHub({
  feed: 'f',
  watched: { view: () => /** @type {any} */ (view) },
  queries,
  now: () => 0,
  budget,
  counts: createCounts(),
  log: pino({ level: 'silent' })
})
const idsIn = (/** @type {string[]} */ sent) => [...sent.join('').matchAll(/(?<="id":")[^"]+/g)].map(String)
const resetsIn = (/** @type {string[]} */ sent) => [...sent.join('').matchAll(/(?<="reason":")[^"]+/g)].map(String)

for (const { code, times, comes, resets } of [
  { code: 'SERVER_LOST', times: 2, comes: ['later', 'missed', 'while-lost'], resets: ['rebuilt'] },
  { code: 'SERVER_REFUSED', times: 1, comes: ['later', 'while-lost'], resets: ['rebuilt', 'unknown'] }
]) {
  t.test(`${code} while changes that a stream missed are read: ${comes} come`, async (t) => {
    const budget = createBudget()
    let left = 0
    const { view, queries, rebuilt } = createLoggedView({
      fail () {
        if (left === 0) return null
        if (--left === 0) view.put('while-lost')
        return code
      }
    })
    const hub = hubOf({ view, queries }, budget)
    view.put('old')
    await hub.isFollowing()
    const some = new Set(['missed', 'while-lost', 'later'])
    const clients = [createClient(budget, { limit: 0 }), createClient(budget, { limit: 0, ids: some })]
    for (const { stream } of clients) hub.add(stream, null)
    await eventually(() => clients.every(({ sent }) => sent.length > 0))
    left = times * (code === 'SERVER_LOST' ? 1 : clients.length)
    view.isComplete = false
    await sleep(30)
    view.put('missed')
    rebuilt()
    view.isComplete = true
    await eventually(() => left === 0)
    view.put('later')
    await eventually(() => clients.every(({ sent }) => idsIn(sent).includes('later')))
    for (const { sent } of clients) {
      t.same(idsIn(sent).sort(), comes)
      t.same(resetsIn(sent), resets)
    }
    await hub.close()
  })
}

t.test('a stream whose start cannot be found stops no other', async (t) => {
  const budget = createBudget()
  let failures = 1
  const logged = createLoggedView({ fail: () => failures-- > 0 ? 'SERVER_REFUSED' : null })
  const { view } = logged
  const hub = hubOf(logged, budget)
  view.put('old')
  await hub.isFollowing()
  const position = view.position()
  view.put('missed')
  const [resuming, tail] = [createClient(budget, { limit: 0 }), createClient(budget, { limit: 0, start: { tail: 1 } })]
  hub.add(resuming.stream, position)
  hub.add(tail.stream, null)
  await eventually(() => idsIn(resuming.sent).length > 0 && tail.sent.length > 0)
  view.put('later')
  await eventually(() => [resuming, tail].every(({ sent }) => idsIn(sent).includes('later')))
  t.same([resuming, tail].map(({ sent }) => [resetsIn(sent), idsIn(sent)]), [[[], ['missed', 'later']], [['unknown'], ['later']]])
  await hub.close()
})

t.test('a stream resumes from a node that has nothing of the log of arrivals for a moment', async (t) => {
  const budget = createBudget()
  let looks = 0
  const logged = createLoggedView({ isIndex: true, isEmpty: () => looks > 0 && looks-- > 0 })
  const { view } = logged
  const hub = hubOf(logged, budget)
  view.put('old')
  await hub.isFollowing()
  const { stream, sent } = createClient(budget, { limit: 0 })
  looks = 6
  hub.add(stream, view.position())
  await eventually(() => looks === 0 && !stream.isResuming)
  view.put('later')
  await eventually(() => idsIn(sent).length > 0)
  t.same([resetsIn(sent), idsIn(sent)], [[], ['later']])
  await hub.close()
})

for (const { what, start, isFirst } of [
  { what: 'since a time', start: { sinceMs: 1 }, isFirst: false },
  { what: 'with its feed', start: null, isFirst: true }
]) {
  t.test(`a stream that begins ${what} gets everything, also if the view is rebuilt before all was sent`, async (t) => {
    const budget = createBudget()
    Object.defineProperties(budget, { chunkBytes: { value: 300 }, budgetBytes: { value: 200 } })
    const logged = createLoggedView()
    const { view, rebuilt } = logged
    const hub = hubOf(logged, budget)
    for (const id of IDS) view.put(id)
    await hub.isFollowing()
    const { stream, sent, drain } = createClient(budget, { limit: 0, start })
    stream.isFirst = isFirst
    hub.add(stream, null)
    await eventually(() => idsIn(sent).length > 0)
    t.ok(idsIn(sent).length < IDS.length)
    rebuilt()
    await sleep(50)
    await eventually(() => {
      drain()
      return new Set(idsIn(sent)).size === IDS.length
    })
    t.same(resetsIn(sent), ['rebuilt'])
    await hub.close()
  })
}

t.test('a part of a stream has a position after a reset, also if nothing follows its snapshot', async (t) => {
  const budget = createBudget()
  const logged = createLoggedView()
  const { view } = logged
  const hub = hubOf(logged, budget)
  const limit = 2000
  view.put('a')
  const before = createClient(budget, { limit })
  hub.add(before.stream, null)
  await eventually(() => idsIn(before.sent).length > 0)
  // the second stream gets the snapshot of the first, and its newest versions
  view.put('a')
  await eventually(() => idsIn(before.sent).length > 1)
  const { stream, sent } = createClient(budget, { limit })
  const several = { positionDue: () => null, beat: () => ': \n\n' }
  const part = new Part(stream, {
    ids: null, limit, encoding: 'utf8', periodMs: 10, position: 'x', label: '"feed":"f"', isFeed: true, several
  })
  hub.add(part, null, true)
  await eventually(() => idsIn(sent).length > 0)
  await eventually(() => part.position === view.position())
  t.same(resetsIn(sent), ['invalid'])
  await hub.close()
})

t.test('a part of a stream that resumes: of a feed that has begun since, without a position, or of an invalid one', (t) => {
  const given = (/** @type {Map<string, string | null> | null} */ positions, /** @type {number} */ limit) => {
    /** @type {any[]} */
    const added = []
    const subjects = ['begun', 'unsettled', 'sale:a'].map((name) => ({
      name,
      label: '',
      isFeed: !name.includes(':'),
      sourceOf: (/** @type {string | null} */ position) =>
        ({ add: (/** @type {any} */ { isFirst }) => { added.push([name, position, isFirst]) }, remove () {} })
    }))
    const subscription = { ids: null, limit, encoding: 'utf8', periodMs: 10 }
    severalOf(subjects, { positions, isResumed: true, subscription }).add(createClient(createBudget(), { limit }).stream)
    return added
  }
  const positions = new Map([['begun', null], ['sale:a', null]])
  t.same(given(positions, 1), [['begun', null, true], ['unsettled', null, false], ['sale:a', null, false]])
  t.same(given(positions, 0), [['begun', null, true], ['unsettled', '-', false], ['sale:a', null, false]], 'what it missed is not known')
  t.same(given(null, 1), [['begun', '-', false], ['unsettled', '-', false], ['sale:a', '-', false]])
  t.end()
})

t.test('a part of a stream without items in its snapshot has a position at once', async (t) => {
  const budget = createBudget()
  const logged = createLoggedView()
  const { view } = logged
  const hub = hubOf(logged, budget)
  view.put('a')
  await hub.isFollowing()
  const { stream } = createClient(budget, { limit: 0 })
  const several = { positionDue: () => null, beat: () => ': \n\n' }
  const part = new Part(stream, {
    ids: null, limit: 0, encoding: 'utf8', periodMs: 10, position: null, label: '"feed":"f"', isFeed: true, several
  })
  hub.add(part, null)
  t.equal(part.position, view.position())
  hub.remove(part)
  await hub.close()
})

for (const isRecent of [false, true]) {
  t.test(`the first snapshot of a stream that waited says that it lacks items${isRecent ? ', without a view' : ''}`, async (t) => {
    const { visit, ...counting } = createCountingView()
    const bytes = Buffer.from('n')
    const newest = { ts: 1, value: bytes, deleted: false }
    let items = 0
    const logged = {
      queries: {},
      view: {
        ...counting,
        newest: () => newest,
        ...(isRecent
          ? { load: async () => {}, piece: 1000, newestIds: async (/** @type {number} */ limit) => Array(Math.min(items, limit)).fill('n') }
          : {
              visit ({ limit }, /** @type {any} */ take) {
                for (let n = 0; n < Math.min(items, limit); n++) take(bytes, 0, bytes.length)
              }
            })
      }
    }
    for (const [count, isComplete] of /** @type {const} */ ([[3, true], [150_000, false]])) {
      items = count
      const budget = createBudget()
      const hub = hubOf(/** @type {any} */ (logged), budget)
      const { stream, sent, drain } = createClient(budget, {})
      stream.isFirst = true
      hub.add(stream, null)
      await eventually(() => {
        drain()
        return stream.list === null && sent.length > 0
      })
      t.equal(idsIn(sent).length, Math.min(count, 100_000))
      t.equal(sent.join('').split('"complete":false').length - 1, isComplete ? 0 : 1)
      await hub.close()
    }
  })
}

t.test('a client with too many changes resets no other that resumes with it', async (t) => {
  const budget = createBudget()
  const logged = createLoggedView({ idsOf: (id) => id === 'many' ? Array.from({ length: 100_001 }, (_, n) => `many-${n}`) : [id] })
  const { view } = logged
  const hub = hubOf(logged, budget)
  view.put('old')
  await hub.isFollowing()
  const older = view.position()
  view.put('one')
  const position = view.position()
  view.put('many')
  const seal = { filter: readIdFilter(['many*']), shown: (/** @type {{ position: string }} */ { position }) => position }
  const [few, many, all] = [
    { ids: new Set(['one']) }, { ids: new Set(), beginnings: ['many'], seal }, {}
  ].map((wanted) => createClient(budget, wanted))
  hub.add(few.stream, older)
  hub.add(many.stream, position)
  hub.add(all.stream, position)
  await eventually(() => [few, many, all].every(({ sent }) => sent.length > 0))
  t.same([few, many, all].map(({ sent }) => resetsIn(sent)), [[], ['expired'], ['expired']])
  t.same(idsIn(few.sent), ['one'])
  await hub.close()
})
