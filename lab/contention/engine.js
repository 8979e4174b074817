/** Techniques on the admission engine (src/admission): one script call for each bid, batches, and both with the rejection cache. */
import { admissionKey, createAdmission, createConfirm, createRejections, fieldsOf } from '../../src/admission/index.js'
import { createRoutes, openConnection } from '../../src/store/index.js'
import { silent } from './silent.js'

const SYSTEM = 'auctions'
const RULE = 'max'
const PAGE = 10_000
const DEADLINE_MS = 20_000
const REQUEST_MS = 600_000

/**
 * @param {{ redisUrl: string, keyPrefix: string, batches: boolean, hasCache: boolean, durability?: string }} options
 * @returns {Promise<import('./techniques.js').Technique>}
 */
export async function openEngine ({ redisUrl, keyPrefix, batches, hasCache, durability = 'memory' }) {
  const openRoutes = (/** @type {string} */ name) => createRoutes({ primaryUrl: redisUrl, name, deadlineMs: DEADLINE_MS })
  const [routes, confirms] = [openRoutes('lab-bids'), openRoutes('lab-confirms')]
  await Promise.all([routes.opened, confirms.opened])
  const counts = { calls: 0, attempts: 0 }
  const keyOf = (/** @type {number} */ partition) => admissionKey(keyPrefix, SYSTEM, partition)
  const connectionOf = () => routes.route(0).connection
  const metrics = {
    sent () { counts.calls++ },
    waited () {},
    dropped () {},
    answered () {},
    asked () {}
  }
  const common = { keyOf, partitionOf: () => 0, partitions: 1, rule: RULE, requestMs: REQUEST_MS, log: silent, metrics }
  const rejections = hasCache
    ? createRejections({
      ...common,
      connectionOf,
      async open (signal) {
        const connection = await openConnection(redisUrl, { name: 'lab-outbox', deadlineMs: DEADLINE_MS, signal })
        return { connection, isLeft: () => false, end: () => connection.close() }
      }
    })
    : undefined
  const admission = createAdmission({
    route: routes.route,
    keyPrefix,
    system: SYSTEM,
    partitions: 1,
    requestMs: REQUEST_MS,
    keepMs: REQUEST_MS,
    deadlineMs: DEADLINE_MS,
    batches,
    rejections,
    confirmOf: () => createConfirm({
      connection: () => confirms.route(0).connection, marker: keyOf(0)('marker:lab'), durability, waitMs: DEADLINE_MS / 2
    }),
    metrics
  })
  return {
    counts,
    submit: (command) => admission.submit(command),

    async events (key) {
      const events = []
      for (let from = '-'; ;) {
        const entries = await connectionOf().send('XRANGE', keyOf(0)(`events:${key}`), from, '+', 'COUNT', PAGE)
        events.push(...entries.map((/** @type {any} */ [, flat]) => fieldsOf(flat.map(String))))
        if (entries.length < PAGE) return events
        from = `(${entries.at(-1)[0]}`
      }
    },

    async close () {
      await rejections?.close()
      await Promise.all([routes.close(), confirms.close()])
    }
  }
}
