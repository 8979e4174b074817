/** Techniques on the admission engine (src/admission): a call of a script or function for each bid, batches, and both with the cache. */
import { admissionKey, createAdmission, createAgreement, createConfirm, createRejections, fieldsOf } from '../../../src/admission/index.js'
import { createPrimaries, openConnection } from '../../../src/store/index.js'
import { METRICS, silent } from './silent.js'

const PAGE = 10_000
const DEADLINE_MS = 20_000
const REQUEST_MS = 600_000

/**
 * @param {{ redisUrl: string, keyPrefix: string, batches: boolean, hasCache: boolean, isFunction?: boolean, durability?: string,
 *   system?: string, rule?: string, onEntry?: (entry: import('../../../src/admission/index.js').Entry) => void }} options `isFunction`: it
 *   decides by a function, as Freshet does, and otherwise by a script; `onEntry`: of the outbox, with a cache
 * @returns {Promise<import('./techniques.js').Technique & Pick<import('../own/subjects.js').Subject, 'versionOf'>>}
 */
export async function openEngine ({
  redisUrl, keyPrefix, batches, hasCache, isFunction = true, durability = 'memory', system = 'auctions', rule = 'max', onEntry
}) {
  const openRoutes = (/** @type {string} */ name) => createPrimaries(redisUrl, { name, deadlineMs: DEADLINE_MS })
  const [routes, confirms] = [openRoutes('lab-bids'), openRoutes('lab-confirms')]
  await Promise.all([routes.opened, confirms.opened])
  const counts = { calls: 0, attempts: 0 }
  const keyOf = (/** @type {number} */ partition) => admissionKey(keyPrefix, system, partition)
  const connectionOf = () => routes.route('').connection
  const requestsOf = createRequests(keyOf(0)('outbox'))
  const metrics = { ...METRICS, sent () { counts.calls++ } }
  const common = { keyOf, partitionOf: () => 0, partitions: 1, rule, requestMs: REQUEST_MS, onEntry, log: silent, metrics }
  const rejections = hasCache
    ? createRejections({
      ...common,
      connectionOf,
      async open (signal) {
        const opened = await openConnection(redisUrl, { name: 'lab-outbox', deadlineMs: DEADLINE_MS, signal })
        const connection = counted(opened, counts)
        return { connection, isLeft: () => false, end: () => connection.close() }
      }
    })
    : undefined
  const admission = createAdmission({
    route: isFunction ? routes.route : scriptRoute(routes.route),
    agreement: createAgreement({ router: routes.router, keyPrefix, system, partitions: 1 }),
    requestMs: REQUEST_MS,
    keepMs: REQUEST_MS,
    deadlineMs: DEADLINE_MS,
    batches,
    rejections,
    confirmOf: () => createConfirm({
      route: () => confirms.route(''), key: keyOf(0), marker: 'marker:lab', durability, waitMs: DEADLINE_MS / 2
    }),
    metrics
  })
  return {
    counts,
    submit: (command) => admission.submit(command),
    read: async (key) => Number(await connectionOf().send('HGET', keyOf(0)(`state:${key}`), 'price')),
    versionOf: async (/** @type {string} */ key) => Number(await connectionOf().send('HGET', keyOf(0)(`state:${key}`), 'version')),

    async stored (key) {
      const events = await entriesAfter(connectionOf(), keyOf(0)(`events:${key}`))
      const requests = await requestsOf(connectionOf())
      return {
        events: events.map(({ fields }) => ({ ...fields, request: requests.get(`${key} ${fields.seq}`) ?? '' })),
        state: fieldsOf((await connectionOf().send('HGETALL', keyOf(0)(`state:${key}`))).map(String))
      }
    },

    async close () {
      await rejections?.close()
      await Promise.all([routes.close(), confirms.close()])
    }
  }
}

/**
 * Entries of a stream after one of them, or all.
 * @param {import('../../../src/store/index.js').Connection} connection @param {string} stream @param {string} [after] id of an entry
 */
async function entriesAfter (connection, stream, after = '') {
  const found = /** @type {{ id: string, fields: import('../../../src/admission/index.js').Fields }[]} */ ([])
  for (let from = after === '' ? '-' : `(${after}`; ;) {
    const entries = await connection.send('XRANGE', stream, from, '+', 'COUNT', PAGE)
    found.push(...entries.map((/** @type {any} */ [id, flat]) => ({ id: String(id), fields: fieldsOf(flat.map(String)) })))
    if (entries.length < PAGE) return found
    from = `(${entries.at(-1)[0]}`
  }
}

/** Which request an event came from is in the outbox of all keys, which is read once. @param {string} outbox */
function createRequests (outbox) {
  /** @type {Map<string, string>} by key and sequence */
  const requests = new Map()
  let after = ''
  return async (/** @type {import('../../../src/store/index.js').Connection} */ connection) => {
    for (const { id, fields: { key, seq, request } } of await entriesAfter(connection, outbox, after)) {
      requests.set(`${key} ${seq}`, request)
      after = id
    }
    return requests
  }
}

/**
 * What the cache asks is also a cost of its arm.
 * @param {import('../../../src/store/index.js').Connection} connection @param {{ calls: number }} counts
 */
const counted = (connection, counts) => ({
  ...connection,
  /** @type {typeof connection.send} */
  send (...words) {
    counts.calls++
    return connection.send(...words)
  }
})

/**
 * Routes whose connections run the script `admit` instead of its function.
 * @param {ReturnType<typeof createPrimaries>['route']} route @returns {ReturnType<typeof createPrimaries>['route']}
 */
const scriptRoute = (route) => (key) => {
  const { connection, ...rest } = route(key)
  /** @type {typeof connection.runScript} */
  const runScript = (named, keys, args) => connection.runScript(typeof named === 'string' ? named : named.name, keys, args)
  return { ...rest, connection: { ...connection, runScript } }
}
