/**
 * People who look at a sale while others buy, as a process of their own: `GET /v1/sales/:id` at a constant rate, whatever the replies do.
 * Latency counts from the moment when a request was due.
 *
 *     <- { url, perSecond }       -> { event: 'up' }
 *     <- { event: 'begin', sale }
 *     <- { event: 'end' }         -> { event: 'looked', latenciesMs, failed }
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openLine } from '../../serving/line.js'

/** so many that a slow reply does not delay the next requests */
const LINES = 50

const send = (/** @type {object} */ message) => process.send?.(message)

process.once('disconnect', () => process.exit(0))
process.once('message', async (/** @type {any} */ { url, perSecond }) => {
  const lines = Array.from({ length: LINES }, () => openLine(new URL(url)))
  await Promise.all(lines.map(({ opened }) => opened))
  let stop = new AbortController()
  let looking = Promise.resolve()
  let failed = 0
  /** @type {number[]} */
  let latenciesMs = []

  /** Each line asks in its turn. @param {string} sale */
  async function look (sale) {
    const { signal } = stop
    setMaxListeners(LINES, signal)
    const beganMs = performance.now()
    await Promise.all(lines.map(async (line, i) => {
      for (let dueMs = beganMs + i * 1000 / perSecond; ; dueMs += LINES * 1000 / perSecond) {
        await sleep(Math.max(0, dueMs - performance.now()), undefined, { signal }).catch(() => {})
        if (signal.aborted) return
        const { status } = await line.send(`GET /v1/sales/${sale} HTTP/1.1\r\nhost: lab\r\n\r\n`)
        if (status === 200) latenciesMs.push(performance.now() - dueMs)
        else failed++
      }
    }))
  }

  process.on('message', async (/** @type {any} */ { event, sale }) => {
    if (event === 'begin') looking = look(sale)
    if (event !== 'end') return
    stop.abort()
    await looking
    send({ event: 'looked', latenciesMs, failed })
    ;[stop, latenciesMs, failed] = [new AbortController(), [], 0]
  })
  send({ event: 'up' })
})
