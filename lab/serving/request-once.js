/** One request over a connection of its own. */
import { get } from 'node:http'
import { RESPONSE_TIMEOUT_MS } from '../../src/requests/index.js'

/** @param {string} url @returns {Promise<{ status: number, body: string }>} status 0: no response, and `body` says why */
export const requestOnce = (url) => new Promise((resolve) => {
  const failed = (/** @type {Error} */ { message }) => resolve({ status: 0, body: message })
  const request = get(url, { agent: false, timeout: RESPONSE_TIMEOUT_MS }, (response) => {
    let body = ''
    response.setEncoding('utf8').on('data', (chunk) => { body += chunk })
      .once('end', () => resolve({ status: response.statusCode ?? 0, body }))
    response.once('error', failed)
  })
  request.once('timeout', () => request.destroy(new Error(`no response within ${RESPONSE_TIMEOUT_MS / 1000} s`))).once('error', failed)
})
