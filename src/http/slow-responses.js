/** Large responses in progress, of which those that are read slowly can be cut off (reply-budget.js). */
import { Counter } from 'prom-client'
import { whenClosed } from './closed.js'

/** over so long, as system buffers take the first megabytes at once */
const SLOW_AFTER_MS = 5000
const CHECK_MS = 500
const SLOW_BYTES_PER_MS = 64 * 1024 / 1000

/** @typedef {import('node:http').ServerResponse} Response */

/** @param {import('prom-client').Registry} registry */
export function createSending (registry) {
  const cut = new Counter({
    name: 'freshet_http_slow_responses_cut_total',
    help: 'Total large responses cut off because their clients read too slowly while other replies lacked room',
    registers: [registry]
  })
  /** @type {Map<Response, { atMs: number, sentBytes: number, isSlow: boolean }>} as of the last check */
  const responses = new Map()
  /** @type {NodeJS.Timeout | undefined} while there are any */
  let timer

  function check () {
    const nowMs = performance.now()
    for (const [response, last] of responses) {
      const ageMs = nowMs - last.atMs
      if (ageMs < SLOW_AFTER_MS) continue
      const sentBytes = sentOver(response)
      responses.set(response, { atMs: nowMs, sentBytes, isSlow: (sentBytes - last.sentBytes) / ageMs < SLOW_BYTES_PER_MS })
    }
  }

  return {
    /** @param {Response} response @param {() => void} done called when it ends */
    add (response, done) {
      if (responses.size === 0) timer = setInterval(check, CHECK_MS).unref()
      responses.set(response, { atMs: performance.now(), sentBytes: sentOver(response), isSlow: false })
      whenClosed(response, () => {
        responses.delete(response)
        if (responses.size === 0) clearInterval(timer)
        done()
      })
    },

    cutSlow () {
      for (const [response, { isSlow }] of responses) {
        if (!isSlow) continue
        cut.inc()
        response.destroy()
      }
    }
  }
}

/**
 * Bytes that the kernel took, of a connection with HTTPS those of TLS. A body is one write, of which a socket counts nothing until its
 * end, so its handle is asked. (Slices of 128 KiB, which need no handle, halved the rate of pages of 1 MB.)
 * @param {Response} response
 * @returns {number}
 */
function sentOver ({ socket }) {
  const { _handle: handle } = /** @type {any} */ (socket)?._parent ?? socket ?? {}
  return handle ? handle.bytesWritten - handle.writeQueueSize : 0
}
