/** The rejection cache: what it answers, and when it asks the server. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createAdmission, createAgreement, createKeyView, createRejections, admissionKey } from '../../src/admission/index.js'
import { createAccepted } from '../../src/admission/rejections.js'
import { FreshetError } from '../../src/errors.js'
import { createPrimaries, openConnection } from '../../src/store/index.js'
import { startProxy } from '../proxy.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, eventually, silentLog, startServer } from '../servers.js'

const SYSTEM = 'auctions'
const REQUEST_MS = 60_000
const keyOf = (/** @type {number} */ partition) => admissionKey('fr:', SYSTEM, partition)
let requests = 0

/** @param {string} key @param {string[]} args @param {{ scope?: string, requestId?: string }} [more] */
const command = (key, args, { scope = args[1] ?? '', requestId = String(++requests) } = {}) =>
  ({ rule: 'max', key, scope, requestId, args })
const create = (/** @type {string} */ key, closeInMs = 600_000) =>
  command(key, ['create', '100', '10', '0', String(Date.now() + closeInMs), '0', '0', '', '', 'EUR'])
const bid = (/** @type {string} */ key, /** @type {string} */ user, /** @type {number} */ amount, max = '', more = {}) =>
  command(key, ['bid', user, String(amount), max], more)

/** An admission with a cache, whose outbox comes through a proxy. @param {import('tap').Test} t @param {string} url @param {number} port */
async function openCached (t, url, port) {
  const proxy = await startProxy(t, port)
  const routes = createPrimaries(url, { name: 'test', deadlineMs: 5000 })
  await routes.opened
  const seen = { answered: 0, asked: /** @type {Record<string, number>} */ ({}) }
  const metrics = {
    sent () {},
    waited () {},
    dropped () {},
    answered () { seen.answered++ },
    asked (/** @type {string} */ why) { seen.asked[why] = (seen.asked[why] ?? 0) + 1 }
  }
  const rejections = createRejections({
    async open (signal) {
      const connection = await openConnection(proxy.url, { name: 'outbox', deadlineMs: 5000, signal })
      return { connection, isLeft: () => false, end: () => connection.close() }
    },
    connectionOf: () => routes.route('').connection,
    keyOf,
    partitionOf: () => 0,
    partitions: 1,
    requestMs: REQUEST_MS,
    log: silentLog,
    metrics
  })
  const admission = createAdmission({
    route: routes.route,
    agreement: createAgreement({ router: routes.router, keyPrefix: 'fr:', system: SYSTEM, partitions: 1 }),
    requestMs: REQUEST_MS,
    keepMs: REQUEST_MS,
    deadlineMs: 5000,
    rejections,
    metrics
  })
  t.teardown(async () => {
    await rejections.close()
    await routes.close()
  })
  /** Submits until the cache answers. @param {() => import('../../src/admission/index.js').Command} make */
  const untilAnswered = (make) => eventually(async () => {
    const before = seen.answered
    const answer = await admission.submit(make())
    return seen.answered > before && answer
  })
  return { admission, seen, proxy, routes, untilAnswered }
}

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })
    const { admission, seen, proxy, untilAnswered } = await openCached(t, server.url, server.port)
    const submit = (/** @type {any} */ one) => admission.submit(one)
    await submit(create('a'))
    const won = bid('a', 'ann', 200)
    t.match(await submit(won), { code: 'accepted' })

    await t.test('a bid below the price is rejected from memory, as the server would', async (t) => {
      const answer = await untilAnswered(() => bid('a', 'bob', 205))
      t.match(answer, { code: 'too_low', seq: 1, isReplay: false, details: { currentBid: '200', minNext: '210', seq: '1' } })
      const direct = await admission.submit({ ...bid('a', 'bob', 205), args: ['bid', 'bob', '205', '205'] })
      t.same({ ...answer, version: 0, now: 0 }, { ...direct, version: 0, now: 0 })
    })

    await t.test('what may be accepted is asked: higher bids, the leader, maxima, and requests that were accepted', async (t) => {
      const before = seen.answered
      t.match(await submit(bid('a', 'ann', 205)), { code: 'self_outbid' })
      t.match(await submit(bid('a', 'bob', 205, '206')), { code: 'too_low' })
      t.match(await submit(won), { code: 'accepted', isReplay: true }, 'whose reply was lost hears that it won')
      t.match(await submit(bid('a', 'bob', 210)), { code: 'accepted', seq: 2 })
      t.match(await submit(won), { code: 'accepted', isReplay: true, seq: 1 }, 'also after the price moved on')
      t.equal(seen.answered, before)
    })

    await t.test('a cut or silent outbox: the server is asked', async (t) => {
      await untilAnswered(() => bid('a', 'cid', 100))
      for (const line of proxy.lines) line.goSilent()
      await sleep(400)
      const before = seen.answered
      t.match(await submit(bid('a', 'cid', 100)), { code: 'too_low' })
      t.equal(seen.answered, before)
      t.ok(seen.asked.behind > 0)
      proxy.resetAll()
      await untilAnswered(() => bid('a', 'cid', 100))
    })

    await t.test('another lineage: what was known is forgotten', async (t) => {
      await untilAnswered(() => bid('a', 'cid', 100))
      const connection = await connectFor(t, server.url)
      // as after a failover to a replica that lacks the last bid
      await connection.send('HSET', keyOf(0)('state:a'), 'price', '100', 'seq', '1')
      await connection.send('HSET', keyOf(0)('generation'), 'lineage', 'another')
      await connection.send('DEL', keyOf(0)('events:a'))
      await eventually(async () => (await submit(bid('a', 'dan', 110))).code === 'accepted')
    })

    await t.test('another lineage, whose clock is an hour behind: it is followed from its own end', async (t) => {
      const connection = await connectFor(t, server.url)
      const [outbox, generation] = ['outbox', 'generation'].map(keyOf(0))
      await connection.send('XADD', outbox, `${Date.now() + 3_600_000}-0`, 'rule', 'max', 'key', 'z', 'ts', '1', 'request', 'r', 'seq', '1')
      await sleep(200)
      await connection.send('DEL', outbox)
      await connection.send('HSET', generation, 'lineage', 'behind')
      await untilAnswered(() => bid('a', 'cid', 100))
      await submit(bid('a', 'eve', 300))
      await eventually(async () => (await submit(bid('a', 'cid', 115))).details.currentBid === '300')
    })

    await t.test('a key is not answered from memory when its outbox cannot be followed', async (t) => {
      const connection = await connectFor(t, server.url)
      /** @type {import('../../src/store/index.js').Connection | null} */
      let followed = null
      let lost = 0
      const view = createKeyView({
        async open () {
          if (followed) throw Object.assign(new Error('no more connections'), { retryable: true })
          followed = await connectFor(t, server.url)
          return { connection: followed, isLeft: () => false, end () {} }
        },
        connectionOf () {
          if (lost-- > 0) throw new FreshetError('SERVER_LOST', 'its slot has moved')
          return connection
        },
        keyOf,
        partitionOf: () => 0,
        partitions: 1,
        log: silentLog
      })
      t.teardown(view.close)
      await submit(create('c'))
      const seqOf = async () => view.seqOf(/** @type {any} */ (await view.get('c')))
      await eventually(async () => await seqOf() === 0 && view.peek('c') !== undefined)
      const { seq } = await submit(bid('c', 'ann', 200))
      const toClose = /** @type {any} */ (followed)
      toClose.close()
      await eventually(() => view.follower.ageMs(0) === Infinity)
      await submit(bid('c', 'bob', 300))
      t.equal(await seqOf(), seq + 1)
      lost = 2
      t.equal(await seqOf(), seq + 1, 'connections that end under a read')
      lost = 2
      t.match(await view.fromPrimary('c'), { fields: { seq: String(seq + 1) } })
    })

    await t.test('after the end bids are rejected from memory, too', async (t) => {
      await submit(create('b'))
      await submit(bid('b', 'ann', 200))
      await submit(command('b', ['close']))
      t.match(await untilAnswered(() => bid('b', 'bob', 1000)), { code: 'closed' })
    })
  })
}

t.test('the filter of accepted requests forgets none in time', async (t) => {
  let nowMs = 0
  const accepted = createAccepted({ requestMs: 1000, now: () => nowMs, bits: 2 ** 16 })
  const digest = (/** @type {number} */ n) => Buffer.from(`request ${n}`.padEnd(32, String(n))).toString('base64url')
  const digestOf = (/** @type {number} */ n) => Buffer.from(String(n * 2654435761 % 2 ** 32).padEnd(24, String(n))).toString('base64url')
  t.equal(accepted.mayHave(digest(1)), false)
  for (let n = 0; n < 1000; n++) accepted.add(digestOf(n))
  nowMs = 999
  accepted.add(digest(1))
  for (let n = 0; n < 1000; n++) if (!accepted.mayHave(digestOf(n))) t.fail(`request ${n}`)
  nowMs = 1001
  accepted.add(digest(2))
  t.ok([1, 2].every((n) => accepted.mayHave(digest(n))))
  nowMs = 3000
  accepted.add(digest(3))
  nowMs = 5000
  accepted.add(digest(4))
  t.notOk(accepted.mayHave(digestOf(7)))
})
