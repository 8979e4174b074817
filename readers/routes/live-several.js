/** Changes of several feeds, and of keys of systems, as one stream of server-sent events (src/push/several.js). */
import { FreshetError } from '../../src/errors.js'
import { FEED_FIELD } from '../../src/feeds/index.js'
import { described, ID_FIELD, many } from '../../src/fields/index.js'
import { feedRoute, FILTERS_IDS, idsOf, missing } from '../../src/http/index.js'
import { createSeveralSeal } from '../../src/push/index.js'
import { clientOf, EVENT, FIELDS as OF_ONE, RESUMING, subscriptionIn } from './live.js'

const MAX_FEEDS = 256
const MAX_KEYS = 64
const { wait: _wait, ...FIELDS } = OF_ONE
const FEED = many(MAX_FEEDS,
  described(FEED_FIELD, 'these feeds, with at most 256 partitions together; one that does not exist is waited for'))

/** @param {string} name */
const keyField = (name) => many(MAX_KEYS, described(ID_FIELD, `each ${name} as its own stream has it`))

/** @param {Record<string, import('../../src/fields/index.js').Field>} fields @param {string[]} codes of streams of keys */
const routeOf = (fields, codes) => feedRoute({
  summary: 'Several feeds and keys of systems in one stream: the events of each, whose data name it; resumes after Last-Event-ID',
  query: fields,
  content: { 'text/event-stream': EVENT },
  isCached: false,
  requestHeaders: RESUMING,
  codes: [...new Set(['ITEM_ID_INVALID', 'VIEW_NEEDED', 'FORBIDDEN', ...codes])]
})

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ push: import('../../src/push/index.js').Push, queries: import('../app.js').Queries,
 *   access: import('../../src/http/index.js').Access | null, keyStreams: import('../systems.js').KeyStreams[] }} parts
 */
export async function severalRoutes (app, { push, queries, access, keyStreams }) {
  const subjects = keyStreams.flatMap(({ system, named }) => named.map((stream) => ({ system, ...stream })))
  const fields = { feed: FEED, ...Object.fromEntries(subjects.map(({ subject }) => [subject, keyField(subject)])), ...FIELDS }

  /**
   * The keys that a query names.
   * @param {Record<string, any>} query @param {import('fastify').FastifyRequest} request
   * @returns {Promise<import('../../src/push/index.js').Subject[]>}
   */
  const keysIn = (query, { headers, id: requestId }) => Promise.all(subjects.flatMap(({ subject, sourceOf }) =>
    [...new Set(/** @type {string[]} */ (query[subject] ?? []))].map(async (id) => ({
      name: `${subject}:${id}`,
      label: `"subject":${JSON.stringify({ [subject]: id })}`,
      isFeed: false,
      sourceOf: await sourceOf({ id, headers, requestId })
    }))))

  // HEAD would never end
  app.get('/v1/live', {
    config: /** @type {any} */ ({ access: 'read', ...FILTERS_IDS }),
    schema: routeOf(fields, subjects.flatMap(({ codes }) => codes)),
    exposeHeadRoute: false
  }, async (request, reply) => {
    const query = /** @type {any} */ (request.query)
    const feeds = [...new Set(/** @type {string[]} */ (query.feed ?? []))].sort()
    const systems = new Set(subjects.flatMap(({ subject, system }) => query[subject] ? [`@${system}`] : []))
    const whats = [...feeds, ...systems]
    if (whats.length === 0) {
      const names = ['feed', ...subjects.map(({ subject }) => subject)]
      throw new FreshetError('REQUEST_INVALID', `nothing to follow; expected one or more of ${names.join(', ')}`)
    }
    expectPermitted(request, access, whats)
    const filter = idsOf(request)
    const seal = filter && await createSeveralSeal(feeds, filter, queries.secret)
    const subscription = { feeds, ...subscriptionIn(query, request), seal }
    await push.streamSeveral(subscription, await keysIn(query, request), clientOf(request, reply, access, whats))
  })
}

/**
 * @param {import('fastify').FastifyRequest} request @param {import('../../src/http/index.js').Access | null} access
 * @param {readonly string[]} whats @throws {FreshetError} FORBIDDEN, with the first that is not permitted
 */
function expectPermitted (request, access, whats) {
  const { grant } = /** @type {{ grant?: import('../../src/http/index.js').Grant }} */ (/** @type {unknown} */ (request))
  if (!access || !grant) return
  for (const what of whats) {
    const why = missing(grant, 'read', what) ??
      (grant.ids !== null && what.startsWith('@') ? `this token is for some ids only, and streams of ${what} do not filter by id` : null)
    if (why !== null) throw new FreshetError('FORBIDDEN', why)
  }
}
