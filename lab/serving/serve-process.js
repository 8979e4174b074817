/**
 * The reference servers, in a process of their own: fastify with its defaults and one route.
 *
 *     ask      handler.js on each request
 *     ask range  the same with one range of the sorted set, and nothing else
 *     bare     the same until it gets a constant response, a Buffer that it sends from then on, without connections to a
 *              server: the cost of HTTP itself for that many bytes (L11)
 *     stream   constant-stream.js: `bare` for clients of push
 *
 * `ask` streams all items (NDJSON, by Accept) as it finds them; `bare` sends them as one Buffer. Neither does what the reader
 * does besides: request metrics, limits, headers about age, errors as problem+json.
 *
 *                                                                        this -> lab   { event: 'loaded' }
 *     lab -> this   { event: 'start', urls, keyPrefix, feed, layout,     this -> lab   { event: 'up', url }
 *                     isRange }
 *     lab -> this   { event: 'constant', body }                          this -> lab   { event: 'constant', bytes }
 *                   or workload: all items of it; or stream: what to push
 *     lab -> this   { event: 'stop' }
 */
import { Readable } from 'node:stream'
import fastify from 'fastify'
import { aborted, listenForStop, tellParent } from '../../src/runtime/index.js'
import { openConnection } from '../../src/store/index.js'
import { serveParent } from './child-process.js'
import { startConstantStream } from './constant-stream.js'
import { NDJSON, everythingOf } from './everything.js'
import { createHandler } from './handler.js'

/** Far longer than a busy machine needs: a lost connection is not reopened. */
const DEADLINE_MS = 10_000
const DEFAULT_LIMIT = 100
/** as the reader's */
const JSON_TYPE = 'application/json; charset=utf-8'

/** @type {import('../../src/store/index.js').Connection[]} */
let connections = []
/** @type {Buffer | null} */
let constant = null
/** @type {ReturnType<typeof startConstantStream> | null} */
let stream = null

serveParent('loaded', { start: serve, constant: setConstant })

/** @param {{ urls: string[], keyPrefix: string, feed: string, layout: string, isRange?: boolean }} order `urls` of the nodes to read */
async function serve ({ urls, keyPrefix, feed, layout, isRange }) {
  if (urls.length === 0) throw new Error('there is no replica to read; expected one, or the setting readFrom primary')
  const { signal } = listenForStop()
  connections = await Promise.all(urls.map((url) =>
    openConnection(url, { name: `freshet-lab-serve-${process.pid}`, deadlineMs: DEADLINE_MS })))
  const handler = createHandler({ connections, keyPrefix, feed, layout, isRange })

  const app = fastify({ forceCloseConnections: true })
  app.get('/v1/feeds/:feed/items', async (request, reply) => {
    const isNdjson = request.headers.accept === NDJSON
    reply.header('content-type', isNdjson ? NDJSON : JSON_TYPE)
    if (constant) return constant
    return isNdjson
      ? Readable.from(handler.everything(), { objectMode: false })
      : handler.newest(Number(/** @type {any} */ (request.query).limit ?? DEFAULT_LIMIT))
  })
  app.get('/v1/feeds/:feed/live', (request, reply) => {
    if (!stream) return reply.code(503).send()
    reply.hijack()
    stream.add(reply.raw)
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  await tellParent({ event: 'up', url })
  await aborted(signal)
  stream?.close()
  await app.close()
  process.exit(0)
}

/** @param {{ body?: string, workload?: import('./workload.js').Workload, stream?: Parameters<typeof startConstantStream>[0] }} order */
function setConstant ({ body = '', workload, stream: shape }) {
  if (shape) stream = startConstantStream(shape)
  else constant = workload ? everythingOf(workload) : Buffer.from(body)
  for (const connection of connections) connection.close()
  tellParent({ event: 'constant', bytes: stream?.bytes ?? constant?.length })
}
