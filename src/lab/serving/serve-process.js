/**
 * The reference arms of serving, as a process of their own: fastify with its defaults and one route.
 *
 *     ask     handler.js on each request
 *     bare    the same until it is given an answer; from then on it sends that, a constant Buffer, and nothing of a server
 *             is open any more: what HTTP itself costs for so many bytes (L11)
 *
 *     stream  constant-stream.js: `bare` for those who are pushed to
 *
 * Everything (NDJSON, by Accept) is streamed by `ask` as it is found, and is one Buffer of `bare`. Neither has what the reader
 * does around an answer: request metrics, limits, headers about its age, errors as problems.
 *
 *                                                                        this -> lab   { event: 'loaded' }
 *     lab -> this   { event: 'start', urls, keyPrefix, feed, layout }    this -> lab   { event: 'up', url }
 *     lab -> this   { event: 'constant', body }                          this -> lab   { event: 'constant', bytes }
 *                   or workload: everything, as it would be; or stream: what is pushed
 *     lab -> this   { event: 'stop' }, or the lab is gone: it ends
 */
import { Readable } from 'node:stream'
import fastify from 'fastify'
import { aborted, listenForStop, tellParent } from '../../lifecycle.js'
import { openConnection } from '../../store/connection.js'
import { startConstantStream } from './constant-stream.js'
import { NDJSON, everythingOf } from './everything.js'
import { createHandler } from './handler.js'

/** far more than a busy machine makes of it: a connection that is lost is not opened again */
const DEADLINE_MS = 10_000
const DEFAULT_LIMIT = 100
/** the reader's */
const JSON_TYPE = 'application/json; charset=utf-8'

if (process.connected) {
  // tell-usage.js lets go of it
  process.channel?.ref()
  process.once('disconnect', () => process.exit(1))
  process.on('message', (/** @type {any} */ message) => { if (message.event === 'start') serve(message).catch(fail) })
  tellParent({ event: 'loaded' })
} else fail(new Error('this is started by the lab: npm run experiment -- list'))

/** @param {Error} error */
function fail ({ message }) {
  process.stderr.write(message + '\n')
  process.exit(1)
}

/** @param {{ urls: string[], keyPrefix: string, feed: string, layout: string }} order `urls` of the nodes that are asked */
async function serve ({ urls, keyPrefix, feed, layout }) {
  if (urls.length === 0) throw new Error('there is no replica to ask; expected one, or the setting readFrom primary')
  const { signal } = listenForStop()
  const connections = await Promise.all(urls.map((url) => openConnection(url, { name: `freshet-lab-ask-${process.pid}`, deadlineMs: DEADLINE_MS })))
  const handler = createHandler({ connections, keyPrefix, feed, layout })
  /** @type {Buffer | null} */
  let constant = null
  let stream = /** @type {ReturnType<typeof startConstantStream> | null} */ (null)

  const app = fastify({ forceCloseConnections: true })
  app.get('/v1/feeds/:feed/items', async (request, reply) => {
    const isNdjson = request.headers.accept === NDJSON
    reply.header('content-type', isNdjson ? NDJSON : JSON_TYPE)
    if (constant) return constant
    return isNdjson ? Readable.from(handler.everything(), { objectMode: false }) : handler.newest(Number(/** @type {any} */ (request.query).limit ?? DEFAULT_LIMIT))
  })
  app.get('/v1/feeds/:feed/live', (request, reply) => {
    if (!stream) return reply.code(503).send()
    reply.hijack()
    stream.add(reply.raw)
  })
  process.on('message', (/** @type {any} */ message) => {
    if (message.event !== 'constant') return
    if (message.stream) stream = startConstantStream(message.stream)
    else constant = message.workload ? everythingOf(message.workload) : Buffer.from(message.body)
    for (const connection of connections) connection.close()
    tellParent({ event: 'constant', bytes: stream?.bytes ?? constant?.length })
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  await tellParent({ event: 'up', url })
  await aborted(signal)
  stream?.close()
  await app.close()
  process.exit(0)
}
