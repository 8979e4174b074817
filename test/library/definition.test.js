/**
 * The stored definition of a feed, and later openings with other options.
 */
import t from 'tap'
import { openFeed, openReader } from '../../src/index.js'
import { engineName, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const nothing = () => {}

/** @param {string} url */
async function nothingStored (url) {
  const reader = await openReader({ redisUrl: url, readFrom: 'primary' })
  try {
    return (await reader.feeds()).length === 0
  } finally {
    await reader.close()
  }
}

const [engine] = await scopedEngines()
t.test(engineName(engine), async (t) => {
  const { url: redisUrl } = await startServer(t, { engine })
  /** @type {string[]} */
  const warnings = []
  const log = {
    info: nothing, warn: (/** @type {any} */ facts, /** @type {string} */ message) => warnings.push(message ?? facts), error: nothing
  }
  /** @param {import('tap').Test} t @param {object} [options] */
  async function open (t, options) {
    warnings.length = 0
    const feed = await openFeed('one', { redisUrl, readFrom: 'primary', log, ...options })
    t.teardown(() => feed.close())
    return feed
  }
  const stored = { layout: 'segments', partitions: 2, windowMs: 60_000, maxItems: 1000 }
  await (await open(t, stored)).close()
  t.equal(await nothingStored(redisUrl), true, 'a feed that was opened and closed without an item leaves nothing')
  const first = await open(t, stored)
  first.append({ id: 'first', value: '1' })
  await first.flush()
  t.match(first.definition, stored)

  t.test('what is not asked for is taken as it is stored', async (t) => {
    const feed = await open(t)
    t.match(feed.definition, stored)
    feed.append({ id: 'adopted', value: '2' })
    await feed.flush()
    t.equal(String((await feed.get('adopted'))?.value), '2')
  })

  t.test('the error of another layout or number of partitions has both values, as options', async (t) => {
    for (const [name, value] of /** @type {const} */ ([['layout', 'ids'], ['partitions', 3]])) {
      await t.rejects(open(t, { ...stored, [name]: value }), {
        code: 'FEED_DEFINITION_DIFFERS',
        stored: stored[name],
        wanted: value,
        message: new RegExp(`one is stored with ${name} ${stored[name]}, not ${value}; write with ${name} ${stored[name]}, ` +
          'or into another feed, or drop it first')
      })
    }
  })

  t.test('another retention is logged, and the stored one stays in force', async (t) => {
    const feed = await open(t, { ...stored, windowMs: 3_600_000, maxItems: '5' })
    t.match(feed.definition, stored)
    t.same(warnings, [
      'the feed is stored with windowMs 60000, so 3600000 has no effect; to change it: npx freshet feed set one --window-ms 3600000, ' +
        'with the same --redis-url',
      'the feed is stored with maxItems 1000, so 5 has no effect; to change it: npx freshet feed set one --max-items 5, with the ' +
        'same --redis-url'
    ])
    feed.append({ id: 'a', ts: Date.now() - 300_000, value: 'x' })
    t.match(feed.account.refused, { too_old: 1 })
  })

  t.test('the same retention, or the default, logs nothing', async (t) => {
    const { windowMs, maxItems, ...rest } = stored
    for (const options of [stored, rest, { ...rest, windowMs: null, maxItems: undefined }, { ...rest, windowMs: '60000' }]) {
      t.match((await open(t, options)).definition, stored)
      t.same(warnings, [])
    }
  })
})
