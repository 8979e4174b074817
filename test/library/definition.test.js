/**
 * What is stored about a feed, and what another one asks for who opens it.
 */
import t from 'tap'
import { openFeed } from '../../src/index.js'
import { engineName, startServer, testEngines } from '../servers.js'

const nothing = () => {}

for (const engine of await testEngines()) {
  t.test(engineName(engine), async (t) => {
    const { url: redisUrl } = await startServer(t, { engine })
    /** @type {string[]} */
    const warnings = []
    const log = { info: nothing, warn: (/** @type {any} */ facts, /** @type {string} */ message) => warnings.push(message ?? facts), error: nothing }
    /** @param {import('tap').Test} t @param {object} [options] */
    async function open (t, options) {
      warnings.length = 0
      const feed = await openFeed('one', { redisUrl, readFrom: 'primary', log, ...options })
      t.teardown(() => feed.close())
      return feed
    }
    const stored = { layout: 'segments', partitions: 2, windowMs: 60_000, maxItems: 1000 }
    t.match((await open(t, stored)).definition, stored)

    t.test('who asks for another layout, or other partitions, is told both values, in words of an option', async (t) => {
      for (const [name, value] of /** @type {const} */ ([['layout', 'ids'], ['partitions', 3]])) {
        await t.rejects(open(t, { ...stored, [name]: value }), {
          code: 'FEED_DEFINITION_DIFFERS', stored: stored[name], wanted: value, message: new RegExp(`one is stored with ${name} ${stored[name]}, not ${value}; write with ${name} ${stored[name]} \\(--${name}\\), or into another feed, or drop it first`)
        })
      }
    })

    t.test('another retention is logged: that which is stored holds', async (t) => {
      const feed = await open(t, { ...stored, windowMs: 3_600_000, maxItems: '5' })
      t.match(feed.definition, stored)
      t.same(warnings, [
        'the feed is stored with windowMs 60000, which holds, not 3600000; to change it: npx freshet feed set one --window-ms 3600000, with the same --redis-url',
        'the feed is stored with maxItems 1000, which holds, not 5; to change it: npx freshet feed set one --max-items 5, with the same --redis-url'
      ])
      feed.append({ id: 'a', ts: Date.now() - 300_000, value: 'x' })
      t.match(feed.account.refused, { too_old: 1 })
    })

    t.test('who asks for the same, or leaves it to the defaults, is told nothing', async (t) => {
      const { windowMs, maxItems, ...rest } = stored
      for (const options of [stored, rest, { ...rest, windowMs: null, maxItems: undefined }, { ...rest, windowMs: '60000' }]) {
        t.match((await open(t, options)).definition, stored)
        t.same(warnings, [])
      }
    })
  })
}
