/**
 * People who look at a sale while others buy, as a process of their own: `GET /v1/sales/:id` at a constant rate, whatever the replies do.
 * Latency counts from the moment when a request was due.
 *
 *     <- { event: 'open', url, perSecond }     -> { event: 'opened' }
 *     <- { event: 'begin', sale }
 *     <- { event: 'end' }                      -> { event: 'end', latenciesMs, failed }
 */
import { setMaxListeners } from 'node:events'
import { tellParent } from '../../../src/runtime/index.js'
import { serveParent } from '../../serving/child-process.js'
import { openLine } from '../../serving/line.js'
import { untilDue } from '../pace.js'

/** so many that a slow reply does not delay the next requests */
const LINES = 50

/** @type {ReturnType<typeof openLine>[]} */
let lines
let everyMs = 0
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
    for (let dueMs = beganMs + i * everyMs; ; dueMs += LINES * everyMs) {
      await untilDue(dueMs, { signal })
      if (signal.aborted) return
      const { status } = await line.get(`/v1/sales/${sale}`)
      if (status === 200) latenciesMs.push(performance.now() - dueMs)
      else failed++
    }
  }))
}

serveParent('ready', {
  async open ({ url, perSecond }) {
    everyMs = 1000 / perSecond
    lines = Array.from({ length: LINES }, () => openLine(new URL(url)))
    await Promise.all(lines.map(({ opened }) => opened))
    tellParent({ event: 'opened' })
  },
  begin ({ sale }) { looking = look(sale) },
  async end () {
    stop.abort()
    await looking
    tellParent({ event: 'end', latenciesMs, failed })
    ;[stop, latenciesMs, failed] = [new AbortController(), [], 0]
  },
  stop: () => process.exit(0)
})
