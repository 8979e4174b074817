/** What several tests of the gateway need. */
import { eventually } from '../servers.js'
import { startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'

export const MAX_BODY_BYTES = 1024 * 1024

/** longer than anything here takes, also on a busy machine; shorter than what ends a request by itself */
export const GENEROUS_MS = 9000

/** Resolves when items of a feed are taken and wait for their acknowledgement. @param {{ send: Function }} gateway @param {string} feed */
export const holdsItemsOf = ({ send }, feed) => eventually(async () =>
  new RegExp(`^freshet_inflight_bytes\\{feed="${feed}"\\} [1-9]`, 'm').test((await send('GET', '/metrics')).body))

/** @param {string} prefix @param {number} n @param {number} [bytes] */
export const itemsOf = (prefix, n, bytes = 10) => Array.from({ length: n }, (_, i) => ({ id: `${prefix}-${i}`, value: 'x'.repeat(bytes) }))

/** @template T @param {() => Promise<T>} work @returns {Promise<T & { ms: number }>} */
export async function timed (work) {
  const startedMs = performance.now()
  const answer = await work()
  return { ...answer, ms: performance.now() - startedMs }
}

/** Acknowledgements that a busy machine delays are waited for. */
const PATIENT = ['--ack-within-ms', '60000', '--deadline-ms', '60000']

/**
 * A gateway, and a reader of the replicas, on the shared deployment.
 * @param {import('tap').Test} t
 * @param {{ flags?: string[], env?: Record<string, string> }} [options] of the gateway
 */
export async function startBoth (t, { flags = [], ...options } = {}) {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const on = { redisUrl: primary.url, keyPrefix }
  const [gateway, reader] = await Promise.all([startGateway(t, { ...on, flags: [...PATIENT, ...flags], ...options }), startReader(t, on)])
  return { primary, keyPrefix, gateway, reader }
}

const RETRYABLE = [425, 503]
const RETRYABLE_CODES = ['SALE_ALL_HELD', 'SALE_PAUSED', 'SALE_NOT_ADMITTED', 'PRODUCT_HELD']

/** @param {import('tap').Test} t @param {any} answer @param {number} status @param {string} code */
export function isProblem (t, answer, status, code) {
  t.equal(answer.status, status, `status of ${code}`)
  t.match(answer.headers.get('content-type'), 'application/problem+json')
  const retryable = RETRYABLE.includes(status) || RETRYABLE_CODES.includes(code)
  t.match(answer.json, { type: `urn:freshet:error:${code}`, title: String, status, detail: String, code, retryable })
  t.notMatch(answer.body, /node_modules|at .*\.js:\d+/, 'no stack')
  return answer.json
}
