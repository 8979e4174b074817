/** Positions of clients that may see some ids only: of the same length, and valid in every reader while the feeds are what they were. */
import t from 'tap'
import { encodeOffsets, MAX_POSITION, newSecret, readIdFilter } from '../../src/item/index.js'
import { createBudget } from '../../src/push/caps.js'
import { createPositionSeal, createSeveralSeal } from '../../src/push/index.js'
import { severalOf } from '../../src/push/several.js'
import { createClient } from './hub-parts.js'

const FEEDS = ['a', 'b', 'c']
const filter = /** @type {any} */ (readIdFilter(['own-*']))
const other = /** @type {any} */ (readIdFilter(['own-*', 'more']))
const positionOf = (/** @type {string} */ feed, /** @type {number} */ ageMs = 0, n = 0, partitions = 1) => encodeOffsets(feed, {
  readMs: 1_800_000_000_000,
  offsets: Array.from({ length: partitions }, () => ({ ms: Math.max(0, 1_800_000_000_000 - ageMs), n, versions: 0, isEnd: true }))
})

/** Secrets as the readers of the same servers find them: one that is not stored is of the reader. */
function createSecrets () {
  /** @type {Map<string, string>} */
  const stored = new Map()
  return {
    begin: (/** @type {string[]} */ ...feeds) => { for (const feed of feeds) stored.set(feed, newSecret()) },
    reader: (own = newSecret()) => async (/** @type {string} */ feed) =>
      ({ secret: stored.get(feed) ?? `${own} ${feed}`, isStored: stored.has(feed) })
  }
}

/**
 * The position of a stream of feeds.
 * @param {import('../../src/push/sealed-positions.js').PositionSeal} seal @param {(string | null)[]} positions
 */
function positionIn (seal, positions) {
  const { stream, sent } = createClient(createBudget(), {})
  const wanted = { ids: null, limit: 1, encoding: 'utf8', periodMs: 10, seal }
  severalOf(positions.map((position, n) => ({
    name: `feed-${String(n).padStart(3, '0')}`,
    label: '',
    isFeed: true,
    sourceOf: () => ({
      add (/** @type {any} */ part) {
        part.reached = position === null ? null : { position }
        if (n === positions.length - 1) part.send(': \n\n')
      },
      remove () {}
    })
  })), { positions: null, isResumed: false, wanted }).add(stream)
  return /(?<=id: ).*/.exec(sent.join(''))?.[0] ?? ''
}

t.test('a position of several feeds is as long, whatever was written, and at most 6 KiB', async (t) => {
  const secrets = createSecrets()
  secrets.begin(...FEEDS)
  const seal = await createSeveralSeal(FEEDS, filter, secrets.reader())
  for (const [feeds, partitions] of [[1, 1], [3, 4], [256, 1], [1, 256]]) {
    const lengths = [[0, 0], [1, 1], [100, 7], [10_000, 200], [2 ** 40, 2 ** 32 - 1]].map(([ageMs, n]) =>
      positionIn(seal, Array.from({ length: feeds }, (_, i) => positionOf(`feed-${i}`, i * ageMs, n, partitions))).length)
    t.equal(new Set(lengths).size, 1, `${lengths}`)
    t.ok(lengths[0] > 0 && lengths[0] <= MAX_POSITION, `${lengths[0]} of ${feeds} feeds`)
  }
})

t.test('it opens in every reader, also if the first feed begins, or was dropped and created again', async (t) => {
  const secrets = createSecrets()
  secrets.begin('b')
  const [one, two] = await Promise.all([1, 2].map(() => createSeveralSeal(FEEDS, filter, secrets.reader())))
  const position = positionOf('b')
  const early = one.shown({ position })
  secrets.begin('a')
  t.equal(await two.open(early), position, 'the first feed has begun')
  await one.refresh(true)
  const late = one.shown({ position })
  t.same([await two.open(late), await one.open(early)], [position, position])
  secrets.begin('a')
  t.equal(await two.open(late), position, 'the first feed is another one')
  const before = await createSeveralSeal(FEEDS, other, secrets.reader())
  const fewer = await createSeveralSeal(['a', 'b'], filter, secrets.reader())
  for (const [what, opened] of Object.entries({ ids: await before.open(late), feeds: await fewer.open(late), text: await two.open('x') })) {
    t.equal(opened, null, `of other ${what}`)
  }
  secrets.begin('b')
  t.equal(await two.open(late), null, 'both feeds are others')
})

t.test('one of feeds that have no position is not sealed: no other reader could open it', async (t) => {
  const secrets = createSecrets()
  const seal = await createSeveralSeal(FEEDS, filter, secrets.reader())
  t.notOk(positionIn(seal, [null, null]).length > 100)
  t.ok(positionIn(seal, [null, positionOf('feed-1')]).length > 100)
})

t.test('a position of a feed that began while it was waited for opens in every reader', async (t) => {
  const secrets = createSecrets()
  const seal = await createPositionSeal('a', filter, secrets.reader())
  secrets.begin('a')
  await seal.refresh(true)
  const position = positionOf('a')
  const shown = seal.shown({ position })
  t.equal(await (await createPositionSeal('a', filter, secrets.reader())).open(shown), position)
  t.equal(await (await createPositionSeal('a', other, secrets.reader())).open(shown), null)
})

t.test('secrets are looked up again while positions are sealed', async (t) => {
  const { now } = performance
  t.teardown(() => { performance.now = now })
  const secrets = createSecrets()
  secrets.begin('a')
  const seals = [await createPositionSeal('a', filter, secrets.reader()), await createSeveralSeal(['a'], filter, secrets.reader())]
  secrets.begin('a')
  performance.now = () => now.call(performance) + 10_000
  const position = positionOf('a')
  for (const seal of seals) seal.shown({ position })
  await new Promise(setImmediate)
  const others = [await createPositionSeal('a', filter, secrets.reader()), await createSeveralSeal(['a'], filter, secrets.reader())]
  for (const [n, seal] of seals.entries()) t.equal(await others[n].open(seal.shown({ position })), position)
})
