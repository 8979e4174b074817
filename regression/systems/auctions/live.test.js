/** The stream of an auction: order, resuming, resets, viewers that do not read, many viewers. */
import t from 'tap'
import { fewAtOnce } from '../../../lab/systems/pace.js'
import { openLive } from '../../../test/push/live-client.js'
import { nightly } from '../../../test/scope.js'
import { eventually } from '../../../test/servers.js'
import { sharedDeployment } from '../../../test/shared.js'
import { startAuctions } from '../../../test/systems/auctions/auctioning.js'

const VIEWERS = nightly(2000, 100)
/** of an auction whose viewer does not read */
const BIDS = nightly(2000, 500)
/** of many viewers, on a busy machine */
const DEADLINE_MS = 60_000

/** @param {{ events: { event: string, data: any, id: string }[] }} viewer */
const seqsOf = ({ events }) => events.filter(({ event }) => event === 'bid').map(({ data }) => data.seq)

/** Names of events up to the snapshot; bids that its replica lacked may follow. @param {{ events: { event: string }[] }} viewer */
const beginning = ({ events }) => events.slice(0, events.findIndex(({ event }) => event === 'snapshot') + 1).map(({ event }) => event)

/** @param {number} from @param {number} to */
const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => from + i)

t.test('live auctions', async (t) => {
  const { gateway, reader } = await startAuctions(t, { ...await sharedDeployment(t), readerFlags: ['--max-streams', '3000'] })
  const { create, bid, close } = gateway
  const bidUpTo = async (/** @type {string} */ id, /** @type {number} */ from, /** @type {number} */ to) => {
    for (let n = from; n <= to; n++) await bid(id, `u${n}`, 9 + n)
  }

  await t.test('a viewer sees the auction, each bid once and in order, and the end', async (t) => {
    await create('a')
    await bidUpTo('a', 1, 5)
    const viewer = await openLive(t, reader.url, '/v1/auctions/a/live')
    await eventually(() => viewer.events.length > 0)
    await bidUpTo('a', 6, 40)
    await close('a')
    await eventually(() => viewer.events.at(-1)?.event === 'close')
    const [{ event, data }] = viewer.events
    t.equal(event, 'snapshot')
    t.match(data.auction, { id: 'a', status: 'open' })
    t.same(seqsOf(viewer), range(data.auction.seq + 1, 40))
    t.same(data.bids.map(({ seq }) => seq), range(1, data.auction.seq).reverse())
    t.match(viewer.events.at(-1)?.data, { seq: 41, by: 'close', amount: '49.00' })
  })

  await t.test('a viewer resumes where it was; from another history, or too far back, it is reset', async (t) => {
    await create('b')
    await bidUpTo('b', 1, 10)
    const first = await openLive(t, reader.url, '/v1/auctions/b/live')
    await eventually(() => first.events.length > 0 && first.events[0].data.auction.seq + seqsOf(first).length === 10)
    const { id } = /** @type {any} */ (first.events.at(-1))
    await bidUpTo('b', 11, 20)
    const again = await openLive(t, reader.url, '/v1/auctions/b/live', { headers: { 'last-event-id': id } })
    await eventually(() => seqsOf(again).length === 10)
    t.same(seqsOf(again), range(11, 20))
    t.equal(again.events[0].event, 'bid')
    for (const wrong of ['0123456789ab.0:7', id.replace(/:.*/, ':99'), 'nonsense']) {
      const reset = await openLive(t, reader.url, '/v1/auctions/b/live', { headers: { 'last-event-id': wrong } })
      await eventually(() => reset.events.some(({ event }) => event === 'snapshot'))
      t.same(beginning(reset), ['reset', 'snapshot'])
    }
    await bidUpTo('b', 21, 220)
    const far = await openLive(t, reader.url, '/v1/auctions/b/live', { headers: { 'last-event-id': id } })
    await eventually(() => far.events.some(({ event }) => event === 'snapshot'))
    t.same(beginning(far), ['reset', 'snapshot'])
  })

  await t.test(`${VIEWERS} viewers of one auction see the same`, async (t) => {
    await create('many')
    // all at once, this process would not send their requests in time on a busy machine
    const viewers = await fewAtOnce(range(1, VIEWERS), 100, () => openLive(t, reader.url, '/v1/auctions/many/live'))
    t.same([...new Set(viewers.map(({ status }) => status))], [200])
    await eventually(() => viewers.every(({ events }) => events.length > 0), { deadlineMs: DEADLINE_MS })
      .catch((error) => t.fail(`${error.message}: ${viewers.filter(({ isEnded }) => isEnded).length} streams ended`))
    await bidUpTo('many', 1, 20)
    await eventually(() => viewers.every((viewer) => seqsOf(viewer).at(-1) === 20), { deadlineMs: DEADLINE_MS })
    const wrong = viewers.filter((viewer) => JSON.stringify(seqsOf(viewer)) !== JSON.stringify(range(1, 20)))
    t.same(wrong.map(seqsOf).slice(0, 3), [])
    const { body } = await reader.get('/metrics')
    t.match(body, new RegExp(`freshet_streams ${VIEWERS + 6}\\b|freshet_streams \\d{3,}`))
  })

  await t.test('a viewer that does not read does not delay others, and goes on or is reset when it reads', async (t) => {
    await create('slow')
    const slow = await openLive(t, reader.url, '/v1/auctions/slow/live', { isReading: false })
    const quick = await openLive(t, reader.url, '/v1/auctions/slow/live')
    await bidUpTo('slow', 1, BIDS)
    await eventually(() => seqsOf(quick).at(-1) === BIDS)
    slow.read()
    await eventually(() => seqsOf(slow).at(-1) === BIDS || slow.events.at(-1)?.data.auction?.seq === BIDS)
    const seqs = seqsOf(slow)
    t.same(seqs.filter((seq, i) => i > 0 && seq <= seqs[i - 1]), [], 'never back')
  })
})
