/** Before a window: every process must have the feed. */
import { setTimeout as pause } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { CONSTANT } from './plan.js'
import { requestOnce } from './request.js'
import { readResponse } from './responses.js'
import { createChecker } from './workload.js'

const POLL_MS = 50
/** The feed may be incomplete for this long after the load's window has begun. */
const FILL_MS = 2000

/** @typedef {import('./index.js').Parts} Parts */

/**
 * Waits until each process returns a correct response; `bare` gets the one that it sends from then on. Centrifugo has no pages.
 * @param {Parts} parts @param {Promise<unknown>} begun the load's window
 * @throws {FreshetError} SERVING_FAILED
 */
export async function fill (parts, begun) {
  const { serving: { by, asks }, servers, following, right } = parts
  const body = by === 'centrifugo' ? '' : await untilFilled(parts, begun)
  // `bare` builds the response with all items itself, in the process that is measured
  if (CONSTANT.includes(by) && asks !== 'everything') right.bytes = await servers.sendConstant(following?.constant() ?? { body })
  await following?.open(parts.urls, right.bytes)
}

/** @param {Parts} parts @param {Promise<unknown>} begun @returns {Promise<string>} a correct response */
async function untilFilled (parts, begun) {
  const { serving: { by, asks, path }, right, itemsPath, urls } = parts
  let untilMs = Infinity
  begun.then(() => { untilMs = performance.now() + FILL_MS }, () => { untilMs = 0 })
  const query = asks === 'everything' ? `${itemsPath}?limit=${right.items}` : path
  for (;; await pause(POLL_MS)) {
    const responses = await Promise.all(urls.map((url) => requestOnce(url + query)))
    const faultOfItems = right.workload ? createChecker(right.workload).faultOf : undefined
    const fault = responses.map(({ status, body }) => readResponse(status, body, right, faultOfItems).fault).find((one) => one !== null) ??
      await notReady(parts)
    if (!fault) return responses[0].body
    if (parts.isClosed || performance.now() > untilMs) {
      throw new FreshetError('SERVING_FAILED',
        `${by} did not return a correct response when the window began: ${fault}; use a longer warm-up, or a smaller limit`)
    }
  }
}

/** A reader may respond before its views are loaded. @param {Parts} parts @returns {Promise<string | null>} why one is not ready */
async function notReady ({ serving, urls }) {
  const responses = serving.by === 'reader' ? await Promise.all(urls.map((url) => requestOnce(`${url}/readyz`))) : []
  const not = responses.find(({ status }) => status !== 200)
  return not ? `not ready: ${not.body.slice(0, 200)}` : null
}
