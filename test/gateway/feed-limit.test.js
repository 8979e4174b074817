/** How many feeds a gateway creates. */
import t from 'tap'
import { createFeedLimit } from '../../writers/gateway/definitions.js'
import { agree, dropFeed, listDefinitions } from '../../src/feeds/definitions.js'
import { connectFor } from '../servers.js'
import { startGateway } from '../services.js'
import { sharedDeployment } from '../shared.js'
import { isProblem, itemsOf } from './requests.js'

t.test('feeds are created up to the limit, also by concurrent requests', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const connection = await connectFor(t, primary.url)
  await agree(connection, keyPrefix, { feed: 'stored', layout: 'ids', partitions: 1, windowMs: 60_000, maxItems: 0, format: 1, log: 1 })
  const [few, none] = await Promise.all(['4', '0'].map((maxFeeds) =>
    startGateway(t, { redisUrl: primary.url, keyPrefix, flags: ['--max-feeds', maxFeeds] })))
  const postTo = (/** @type {typeof few} */ gateway, /** @type {string} */ name) =>
    gateway.post(`/v1/feeds/${name}/items`, itemsOf('a', 1))
  const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => postTo(few, `new-${n}`)))
  t.equal(answers.filter(({ status }) => status === 200).length, 3)
  for (const answer of answers.filter(({ status }) => status !== 200)) {
    t.match(isProblem(t, answer, 403, 'FEEDS_FULL').detail,
      /^there is no feed new-\d+, and 4 feeds are stored, and this gateway creates none beyond 4 \(--max-feeds\);/)
  }
  const names = (await listDefinitions(connection, keyPrefix)).map(({ feed }) => feed)
  t.equal(names.length, 4)
  for (const name of names) t.equal((await postTo(few, name)).status, 200, 'those that there are are written')
  isProblem(t, await few.remove('/v1/feeds/other/items/a'), 404, 'FEED_UNKNOWN')

  t.match(isProblem(t, await postTo(none, 'other'), 403, 'FEEDS_FULL').detail, 'this gateway creates none (--max-feeds 0)')
  t.equal((await postTo(none, 'stored')).status, 200)
  isProblem(t, await few.post('/v1/feeds/other/items', [{ id: 'a' }]), 400, 'REQUEST_INVALID')
})

t.test('a failed creation and a dropped feed make room', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const connection = await connectFor(t, primary.url)
  const { admit } = createFeedLimit({ maxFeeds: 1, count: () => connection.send('SCARD', `${keyPrefix}feeds`) })
  const first = await admit('a')
  const waiting = admit('b')
  first(Promise.reject(new Error('it was not made')))
  const second = await waiting
  await agree(connection, keyPrefix, { feed: 'b', layout: 'ids', partitions: 1, windowMs: 60_000, maxItems: 0, format: 1, log: 1 })
  second(Promise.resolve())
  await t.rejects(admit('c'), { code: 'FEEDS_FULL' })
  await dropFeed(connection, keyPrefix, 'b')
  t.ok(await admit('c'))
})
