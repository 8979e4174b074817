/**
 * Items over HTTP: `npm start gateway` in a process of its own, and a client that posts NDJSON to it. A batch is one request;
 * the gateway batches on its own. The CPU time of both counts as that of the load.
 *
 * Requests run in parallel and may be stored in any order. To keep the order known, as the ledger needs it, the items of a
 * request share one time, and every request has another.
 */
import { Agent } from 'node:http'
import { FreshetError } from '../errors.js'
import { WHOLE_VALUE_BYTES } from '../../src/synthetic.js'
import { startProcess } from '../serving/process.js'
import { request } from '../serving/request.js'
import { BATCHES_IN_FLIGHT, LOST_AFTER_MS, driveBatches } from './drive.js'
import { FEED_OPTIONS } from './library.js'

/** The gateway has its own batch size. */
const GATEWAY_OPTIONS = FEED_OPTIONS.filter((name) => !['batchItems', 'replicaUrl', 'redisAuth'].includes(name))
const UP_MS = 20_000
/** with fewer items, there may be more than one request a millisecond */
const LEAST_ITEMS = 50
/** bytes of an item besides its id and value: `{"id":"","ts":1234567890123,"value":}` and the line end */
const ITEM_BUDGET = 64
const [HEAD, TS, VALUE, END] = ['{"id":"', '","ts":', ',"value":', '}\n'].map((text) => Buffer.from(text))

/** @param {Record<string, any>} settings of a writer @returns {Record<string, any>} of the gateway */
export const gatewaySettings = (settings) => ({
  ...Object.fromEntries(GATEWAY_OPTIONS.filter((name) => name in settings).map((name) => [name, settings[name]])),
  port: 0
})

/** @type {import('./index.js').Load['open']} */
export async function openGateway (parts) {
  const { settings, redisUrl, replicaUrls, clock, gateway = [] } = parts
  const { feed, ids, batchItems, valueBytes } = settings
  if (valueBytes < WHOLE_VALUE_BYTES) {
    throw new FreshetError('LOAD_FAILED', `valueBytes ${valueBytes}: expected at least ${WHOLE_VALUE_BYTES}; shorter values are not JSON`)
  }
  if (batchItems < LEAST_ITEMS) {
    throw new FreshetError('LOAD_FAILED',
      `batchItems ${batchItems}: expected at least ${LEAST_ITEMS} for each request, or their times run ahead of the clock`)
  }
  if (ids < 2 * BATCHES_IN_FLIGHT * batchItems) {
    throw new FreshetError('LOAD_FAILED',
      `ids ${ids}: expected at least ${2 * BATCHES_IN_FLIGHT} times batchItems, or an id is in two requests at once`)
  }
  const serving = startProcess('the gateway', gateway,
    { ...process.env, FRESHET_REDIS_URL: redisUrl, FRESHET_REPLICA_URL: replicaUrls?.join(',') })
  /** @type {string} */
  let url
  try {
    url = (await serving.receive('up', UP_MS)).url
  } catch (error) {
    await serving.stop()
    throw error
  }
  const agent = new Agent({ keepAlive: true, maxSockets: BATCHES_IN_FLIGHT })
  /** @type {Buffer[]} */
  const spare = []
  let ts = 0

  const driven = driveBatches(parts, {
    async send (count, next) {
      ts = Math.max(ts + 1, Math.floor(clock()))
      const body = spare.pop() ?? Buffer.allocUnsafe(batchItems * (valueBytes + 2 * ITEM_BUDGET))
      const length = encode(body, count, next, Buffer.from(String(ts)))
      const accepted = await Promise.race([postTo(`${url}/v1/feeds/${feed}/items`, agent, body.subarray(0, length)), serving.ended])
      spare.push(body)
      return accepted
    },
    async close () {
      agent.destroy()
      await serving.stop()
    }
  })
  return { ...driven, cpuMicros: async () => (await serving.usage()).cpuSeconds * 1e6 }
}

/**
 * @param {Buffer} body with room for them @param {number} count @param {() => import('./source.js').Item} next @param {Buffer} ts
 * @returns {number} bytes written
 */
function encode (body, count, next, ts) {
  let at = 0
  for (let i = 0; i < count; i++) {
    const { id, value } = next()
    for (const part of [HEAD, id, TS, ts, VALUE, value, END]) at += part.copy(body, at)
  }
  return at
}

/**
 * @param {string} url @param {Agent} agent @param {Buffer} body
 * @returns {Promise<number>} items that were accepted
 * @throws {FreshetError} LOAD_FAILED: another status than 200, or no response
 */
async function postTo (url, agent, body) {
  const headers = { 'content-type': 'application/x-ndjson', 'content-length': body.length }
  const { status, chunks } = await request(url, { method: 'POST', agent, headers, body, timeoutMs: LOST_AFTER_MS })
  const text = Buffer.concat(chunks).toString()
  if (status === 200) return JSON.parse(text).accepted
  throw new FreshetError('LOAD_FAILED',
    `the gateway ${status === 0 ? `did not respond: ${text}` : `returned ${status}: ${text.slice(0, 300)}`}`)
}
