/**
 * One request by node:http: for all but the loop of many connections (request-loop.js), lines (line.js) and streams (event-stream.js).
 *
 * @typedef {{ status: number, chunks: Buffer[], bytes: number, firstMs: number, lastMs: number }} Response `firstMs`, `lastMs`: from the
 *   request to the first and to the last byte of the body; status 0: it failed, and the only chunk says why
 */
import { request as send } from 'node:http'
import { RESPONSE_TIMEOUT_MS } from './request-loop.js'

/**
 * @param {string} url
 * @param {Pick<import('node:http').RequestOptions, 'method' | 'headers' | 'agent' | 'signal'> & { timeoutMs?: number,
 *   body?: string | Buffer }} [options]
 *   `agent`: default: a connection of its own; `timeoutMs` without a byte, 0 = none
 * @returns {Promise<Response>}
 */
export const request = (url, { timeoutMs = 0, body, agent = false, ...options } = {}) => new Promise((resolve) => {
  const sinceMs = performance.now()
  /** @type {Buffer[]} */
  let chunks = []
  let [bytes, firstMs] = [0, 0]
  const end = (/** @type {number} */ status) => resolve({ status, chunks, bytes, firstMs, lastMs: performance.now() - sinceMs })
  function failed (/** @type {Error} */ { message }) {
    chunks = [Buffer.from(message)]
    end(0)
  }
  const sent = send(url, { ...options, agent, timeout: timeoutMs }, (response) => {
    response.on('data', (/** @type {Buffer} */ chunk) => {
      firstMs ||= performance.now() - sinceMs
      bytes += chunk.length
      chunks.push(chunk)
    })
    response.once('end', () => end(response.statusCode ?? 0)).once('error', failed)
  })
  sent.once('timeout', () => sent.destroy(new Error(`no response within ${timeoutMs / 1000} s`))).once('error', failed).end(body)
})

/** @param {string} url @returns {Promise<{ status: number, body: string }>} status 0: no response, and `body` says why */
export async function requestOnce (url) {
  const { status, chunks } = await request(url, { timeoutMs: RESPONSE_TIMEOUT_MS })
  return { status, body: Buffer.concat(chunks).toString() }
}
