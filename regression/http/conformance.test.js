/** Readers and gateways do what their OpenAPI documents say, for data that a property-based tester makes up. */
import t from 'tap'
import { sharedDatabase } from '../../test/database.js'
import { nightly } from '../../test/scope.js'
import { startGateway, startReader } from '../../test/services.js'
import { sharedDeployment } from '../../test/shared.js'
import { check, installed } from './schemathesis.js'

const FEED = 'latest'
/** 503 on a busy machine would be a failure */
const PATIENT = ['--deadline-ms', '30000']
/** requests that are made up for a route */
const EXAMPLES = nightly(50, 6)
/** A route that has answered 200 to none of a run is asked again, without the others. */
const MOST_RUNS = 3
const EXAMPLES_AGAIN = 50

const packages = await installed().catch((error) => {
  // CI names what it wants to be tested
  if (process.env.FRESHET_TEST_ENGINES) throw error
  process.stderr.write(`# not tested here, schemathesis cannot be installed: ${error.message}\n`)
  return null
})

t.test('services do what their documents say', { skip: !packages }, async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const database = await sharedDatabase(t, { isMigrated: true })
  const [gateway, reader] = await Promise.all([
    // any ts of the schema is inside of these
    startGateway(t, { redisUrl: primary.url, keyPrefix, flags: ['--window-ms', '0', '--max-future-ms', String(2 ** 41 - 1), ...PATIENT] }),
    startReader(t, { redisUrl: primary.url, keyPrefix, flags: ['--database-url', database.url, ...PATIENT] })
  ])
  const items = Array.from({ length: 300 }, (_, n) => ({ id: `bus-${n}`, value: n % 2 ? { stop: n } : 'é' }))
  t.equal((await gateway.post(`/v1/feeds/${FEED}/items`, items)).status, 200)
  const { json: { next } } = await reader.ask(`/v1/feeds/${FEED}/items?limit=1`)
  const env = { FRESHET_FEED: FEED, FRESHET_CURSOR: next, FRESHET_POSITION: await positionOf(reader.url) }

  /**
   * @param {import('tap').Test} t @param {Parameters<typeof check>[1]} options
   * @param {string[]} routes that answer 200 to some of it, or the rest says little
   */
  async function passes (t, options, routes) {
    let silent = routes
    for (let n = 0; n === 0 || (n < MOST_RUNS && silent.length > 0); n++) {
      const again = { ...options, examples: EXAMPLES_AGAIN, phases: 'fuzzing', paths: silent.map((route) => route.replace(/:(\w+)/g, '{$1}')) }
      const { status, output } = await check(/** @type {string} */ (packages), n === 0 ? options : again)
      t.equal(status, 0, 'no failures')
      if (status !== 0) return t.comment(output)
      silent = await unanswered(options.url, routes)
    }
    t.same(silent, [], 'each route has answered')
  }

  await t.test('a reader does what its document says, in pages, lines and event streams', async (t) => {
    // with changes, streams end sooner than their timeout
    const timer = setInterval(() => gateway.post(`/v1/feeds/${FEED}/items`, items.slice(0, 10)).catch(() => {}), 200)
    t.teardown(() => clearInterval(timer))
    await passes(t, { url: reader.url, examples: EXAMPLES, env },
      ['/v1/feeds', '/v1/feeds/:feed', '/v1/feeds/:feed/items', '/v1/feeds/:feed/items/:id', '/v1/feeds/:feed/count',
        '/v1/feeds/:feed/figures', '/v1/feeds/:feed/live', '/readyz', '/livez', '/metrics', '/', '/example'])
  })

  await t.test('a gateway does what its document says', async (t) => {
    // it would follow the feeds that are made up
    await reader.service.stop()
    await passes(t, { url: gateway.url, examples: EXAMPLES / 2, phases: 'fuzzing', env },
      ['/v1/feeds/:feed/items', '/v1/feeds/:feed/items/:id', '/readyz', '/livez', '/metrics'])
  })
})

/** @param {string} url @param {string[]} routes @returns {Promise<string[]>} those that have not answered 200 */
async function unanswered (url, routes) {
  const body = await (await fetch(`${url}/metrics`)).text()
  return routes.filter((route) => !body.includes(`freshet_http_requests_total{route="${route}",status="200"}`))
}

/** @param {string} url of a reader @returns {Promise<string>} the position after a snapshot */
async function positionOf (url) {
  const stop = new AbortController()
  const response = await fetch(`${url}/v1/feeds/${FEED}/live`, { signal: stop.signal })
  let text = ''
  for await (const chunk of /** @type {any} */ (response.body).pipeThrough(new TextDecoderStream())) {
    text += chunk
    const [, position] = /^id: (\S+)$/m.exec(text) ?? []
    if (position === undefined) continue
    stop.abort()
    return position
  }
  throw new Error(`no position in ${text}`)
}
