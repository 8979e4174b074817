/** Compresses cached replies, each once for all clients that accept gzip. */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { Counter } from 'prom-client'
import { reuseMsOf, SingleFlight } from './reply-cache.js'

/** a request whose reply did not compress well is not tried again for this long */
const RETRY_MS = 10_000
/** the body and its compressed form */
const COPIES = 2

/** @typedef {import('./reply-cache.js').CachedReply} CachedReply */

/**
 * @param {{ registry: import('prom-client').Registry, store: import('./reply-cache.js').ReplyStore,
 *   budget: import('./reply-cache.js').Budget, elapsed: () => number }} options
 * @returns {(reply: CachedReply) => Promise<CachedReply>} the same reply, or an earlier one to the same request that is being compressed;
 *   without room it is not compressed
 */
export function createCompressor ({ registry, store, budget, elapsed }) {
  /** @type {SingleFlight<CachedReply>} */
  const flights = new SingleFlight()
  const counter = new Counter({
    name: 'freshet_gzip_replies_total',
    help: 'Total replies considered for gzip: compressed yes, or no because the saving was too small',
    labelNames: ['compressed'],
    registers: [registry]
  })

  /** @param {CachedReply} reply */
  async function compress (reply) {
    const leave = budget.enterNow(COPIES * reply.body.length)
    // it is sent as it is
    if (!leave) return reply
    const startedMs = elapsed()
    reply.gzipped = await gzipped(reply.body).finally(leave)
    const nowMs = elapsed()
    counter.inc({ compressed: reply.gzipped === null ? 'no' : 'yes' })
    if (reply.gzipped === null) reply.retryGzipMs = nowMs + RETRY_MS
    else store.grow(reply, reply.gzipped.length)
    // the time of the thread pool counts as build time
    const costMs = reply.costMs + nowMs - startedMs
    if (reply.revision !== null) reply.validUntilMs = Math.max(reply.validUntilMs, reply.builtMs + reuseMsOf(costMs))
    return reply
  }

  return async (reply) => {
    if (reply.gzipped !== undefined || elapsed() < reply.retryGzipMs) return reply
    return flights.join(reply.key, () => compress(reply)).result
  }
}

// Compresses with gzip, in the thread pool. Level 1, because replies live for milliseconds only.

const compress = promisify(gzip)

/** smaller replies fit into one packet either way */
const MIN_BYTES = 1400
/** larger results do not save enough to be worth unpacking */
const MAX_RATIO = 0.9
const LEVEL = 1

/**
 * @param {Buffer} body
 * @returns {Promise<Buffer | null>} null: compression does not save enough
 */
export async function gzipped (body) {
  if (body.length < MIN_BYTES) return null
  const bytes = await compress(body, { level: LEVEL })
  return bytes.length <= body.length * MAX_RATIO ? bytes : null
}
