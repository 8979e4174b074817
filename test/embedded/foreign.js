/** Requests as web pages from elsewhere send them. */
import { request } from 'node:http'

/** @type {Record<string, string>[]} */
export const foreignHeaders = [
  { host: 'rebound.example' }, { host: 'localhost', origin: 'https://example.org' }, { host: 'localhost', origin: 'null' }
]

/**
 * Of PUT: `fetch` sets `Host` itself.
 * @param {string} url @param {Record<string, string>} headers @returns {Promise<number | undefined>}
 */
export const statusOf = (url, headers) => new Promise((resolve, reject) => {
  request(url, { method: 'PUT', headers: { 'content-type': 'application/json', ...headers } }, (response) => {
    response.resume()
    resolve(response.statusCode)
  }).once('error', reject).end('{}')
})
