/**
 * Followers of readers, and what stands in for a reader where none would say such a thing.
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { follow } from '../../src/client.js'

/**
 * Follows in the background until the test ends, and remembers everything.
 * @param {import('tap').Test} t
 * @param {string | string[]} readers
 * @param {string | string[]} feed
 * @param {import('../../src/client.js').FollowOptions<any>} [options]
 */
export function startFollowing (t, readers, feed, options = {}) {
  const over = new AbortController()
  /** @type {any[]} */
  const events = []
  /** newest by id @type {Map<string, any>} */
  const items = new Map()
  /** when the first version of an id came, by performance.now() @type {Map<string, number>} */
  const firstMs = new Map()
  /** @type {{ error: any, waitMs: number }[]} */
  const retries = []
  const wentBack = /** @type {string[]} */ ([])
  const following = (async () => {
    const onRetry = (/** @type {Error} */ error, /** @type {number} */ waitMs) => retries.push({ error, waitMs })
    for await (const event of follow(readers, feed, { signal: over.signal, onRetry, ...options })) {
      events.push(event)
      if (event.event === 'reset') continue
      for (const item of /** @type {any[]} */ (event.items)) {
        const known = items.get(item.id)
        if (known?.ts > item.ts) wentBack.push(`${item.id}: ${item.ts} after ${known.ts}`)
        items.set(item.id, item)
        if (!known) firstMs.set(item.id, performance.now())
      }
    }
  })()
  following.catch(() => {})
  const stop = async () => {
    over.abort()
    await following
  }
  t.teardown(() => stop().catch(() => {}))
  return { events, items, firstMs, retries, wentBack, following, stop, names: () => events.map(({ event }) => event) }
}

/**
 * An HTTP server that answers the first request by the first of some functions, and so on; by the last one whatever comes after.
 * @param {import('tap').Test} t
 * @param {...(response: import('node:http').ServerResponse, request: import('node:http').IncomingMessage) => unknown} answers
 */
export async function startScript (t, ...answers) {
  /** @type {import('node:http').IncomingMessage[]} */
  const requests = []
  const server = createServer((request, response) => {
    response.on('error', () => {})
    requests.push(request)
    answers[Math.min(requests.length, answers.length) - 1](response, request)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => new Promise((resolve) => {
    server.close(resolve)
    server.closeAllConnections()
  }))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return { url: `http://127.0.0.1:${port}`, requests, server }
}

/** An answer that streams a text, or texts one after another. @param {...string | Uint8Array} parts */
export const streaming = (...parts) => async (/** @type {import('node:http').ServerResponse} */ response) => {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const part of parts) await new Promise((resolve) => response.write(part, resolve))
}

/** The same, and then it ends. @param {...string | Uint8Array} parts */
export const ending = (...parts) => async (/** @type {import('node:http').ServerResponse} */ response) => {
  await streaming(...parts)(response)
  response.end()
}

/** An answer of a reader that refuses. @param {number} status @param {string} code @param {Record<string, string>} [headers] */
export const refusing = (status, code, headers = {}) => (/** @type {import('node:http').ServerResponse} */ response) => {
  response.writeHead(status, { 'content-type': 'application/problem+json', ...headers }).end(JSON.stringify({ code, detail: 'so it is' }))
}

const base64 = (/** @type {string} */ text) => Buffer.from(text).toString('base64')

/** An event of a reader. @param {'snapshot' | 'items'} name @param {Record<string, string>} values by id @param {string} [position] */
export const eventText = (name, values, position) =>
  `event: ${name}\ndata: ` +
    `${JSON.stringify({ items: Object.entries(values).map(([id, value]) => ({ id, ts: 1, value: base64(value) })) })}\n` +
    `${position === undefined ? '' : `id: ${position}\n`}\n`
