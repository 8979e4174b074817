/**
 * One question over a connection of its own.
 */
import { get } from 'node:http'
import { ANSWER_WITHIN_MS } from './asking.js'

/** @param {string} url @returns {Promise<{ status: number, body: string }>} status 0 when there was no answer, and why */
export const askOnce = (url) => new Promise((resolve) => {
  const request = get(url, { agent: false, timeout: ANSWER_WITHIN_MS }, (response) => {
    let body = ''
    response.setEncoding('utf8').on('data', (chunk) => { body += chunk }).once('end', () => resolve({ status: response.statusCode ?? 0, body }))
    response.once('error', (error) => resolve({ status: 0, body: error.message }))
  })
  request.once('timeout', () => request.destroy(new Error('no answer'))).once('error', (error) => resolve({ status: 0, body: error.message }))
})
