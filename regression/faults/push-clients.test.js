/** Clients of /live that leave in the middle of something, or speak HTTP as few do: the reader lives, and nothing of them stays. */
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { logOf, runReader } from '../../test/commands.js'
import { metricsOf, openLive, openSocket, requestText } from '../../test/push/live-client.js'
import { openWritten } from '../../test/push/written.js'
import { engineName, eventually, startServer } from '../../test/servers.js'
import { nightly, scopedEngines } from '../../test/scope.js'

const LEAVING = nightly(300, 100)
const PIPELINED = 50
/** of pino: what is an error here */
const ERROR_LEVEL = 50

/** Everything a socket gets, as text. @param {import('node:net').Socket} socket */
function textOf (socket) {
  const got = { text: '', isClosed: false }
  socket.setEncoding('latin1').on('data', (chunk) => { got.text += chunk })
  socket.once('close', () => { got.isClosed = true })
  return got
}

t.jobs = 2
// on one engine: it is the reader that is looked at
const [engine] = await scopedEngines()
t.test(engineName(engine), { buffered: true }, async (t) => {
  const server = await startServer(t, { engine })
  const reader = await runReader(t, { redisUrl: server.url, flags: ['--read-from', 'primary'] })
  const written = await openWritten(t, { redisUrl: server.url, feed: 'busy' })
  const value = Buffer.alloc(2000, 'v')
  const writing = written.keepWriting({ ids: 300, perSlice: 15, everyMs: 20, valueAt: () => value })
  await eventually(() => writing.written > 300)
  const nobodyIsLeft = () => eventually(async () => {
    const metrics = await metricsOf(reader)
    return metrics.get('freshet_streams') === 0 && metrics.get('freshet_stream_buffered_bytes') === 0
  })
  const isWell = async (/** @type {import('tap').Test} */ t) => {
    const client = await openLive(t, reader.url, '/v1/feeds/busy/live')
    await client.until('snapshot')
    await client.until('items', 3)
    client.close()
  }

  await t.test(`${LEAVING} that leave at any time, some with a reset, some before they are answered`, async (t) => {
    await isWell(t)
    await nobodyIsLeft()
    const before = await metricsOf(reader)
    await Promise.all(Array.from({ length: LEAVING }, async (_, n) => {
      await pause(Math.random() * 1000)
      const query = ['', '?limit=10000', '?id=id-1&id=id-2', '?maxRate=1'][n % 4]
      const socket = await openSocket(t, reader.url, requestText(`/v1/feeds/busy/live${query}`))
      if (n % 3 > 0) await once(socket, 'data').catch(() => {})
      // two of three take nothing more: something waits for them
      if (n % 3 === 2) socket.on('data', () => {})
      await pause(Math.random() * 500)
      if (n % 2) socket.resetAndDestroy()
      else socket.destroy()
    }))
    await nobodyIsLeft()
    const after = await metricsOf(reader)
    const ended = (/** @type {string} */ reason) => Number(after.get(`freshet_streams_ended_total{reason="${reason}"}`)) -
      Number(before.get(`freshet_streams_ended_total{reason="${reason}"}`))
    t.ok(ended('closed') > LEAVING / 2 && ended('closed') <= LEAVING, `${ended('closed')} were streams`)
    t.same(['stalled', 'revoked', 'stopped', 'failed'].map(ended), [0, 0, 0, 0])
    await eventually(async () => Number((await metricsOf(reader)).get('process_open_fds')) <= Number(before.get('process_open_fds')) + 5)
    await isWell(t)
  })

  await t.test('HEAD is no stream, and does not hang', async (t) => {
    const socket = await openSocket(t, reader.url, requestText('/v1/feeds/busy/live', { connection: 'close' }, 'HEAD'))
    const got = textOf(socket)
    await eventually(() => got.isClosed)
    t.match(got.text, /^HTTP\/1\.1 405 /)
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      t.equal((await fetch(`${reader.url}/v1/feeds/busy/live`, { method })).status, 405, method)
    }
  })

  await t.test('what is asked behind a stream on its connection is no second stream', async (t) => {
    await nobodyIsLeft()
    const live = requestText('/v1/feeds/busy/live')
    const socket = await openSocket(t, reader.url, live + requestText('/livez') + live.repeat(PIPELINED))
    const got = textOf(socket)
    await eventually(() => got.text.split('event: items').length > 5)
    t.equal((await metricsOf(reader)).get('freshet_streams'), 1)
    t.equal(got.text.split('HTTP/1.1').length - 1, 1, 'the answers wait behind the stream, which does not end')
    socket.destroy()
    await nobodyIsLeft()

    const late = await openSocket(t, reader.url, live)
    const gotLate = textOf(late)
    await eventually(() => gotLate.text.includes('event: items'))
    for (let n = 0; n < 20; n++) {
      late.write(live.repeat(PIPELINED))
      await pause(10)
    }
    t.equal((await metricsOf(reader)).get('freshet_streams'), 1)
    late.destroy()
    await nobodyIsLeft()
  })

  await t.test('a stream that is asked for behind an answer comes behind it', async (t) => {
    const socket = await openSocket(t, reader.url, requestText('/livez'))
    const got = textOf(socket)
    await eventually(() => got.text.includes('200'))
    socket.write(requestText('/v1/feeds/busy/live'))
    await eventually(() => got.text.includes('event: items'))
    socket.destroy()
  })

  await t.test('HTTP/1.0, a body that never comes, bytes that are no request', async (t) => {
    const old = await openSocket(t, reader.url, 'GET /v1/feeds/busy/live HTTP/1.0\r\n\r\n')
    const gotOld = textOf(old)
    const bodiless = await openSocket(t, reader.url, requestText('/v1/feeds/busy/live', { 'content-length': '1000000' }))
    const gotBodiless = textOf(bodiless)
    const noisy = await openSocket(t, reader.url, requestText('/v1/feeds/busy/live'))
    const gotNoisy = textOf(noisy)
    await eventually(() => [gotOld, gotNoisy].every(({ text }) => text.includes('event: items')))
    t.notMatch(gotOld.text, /transfer-encoding/i)
    noisy.write('\0\r\n\r\nevent: items\r\n\r\n'.repeat(100))
    // what is behind a stream is refused after it
    const seen = gotNoisy.text.length
    await eventually(() => gotNoisy.text.length > 2 * seen)
    t.notMatch(gotNoisy.text, /HTTP\/1\.1 400/)
    noisy.destroy()
    await eventually(() => gotBodiless.isClosed)
    old.destroy()
    await nobodyIsLeft()
    await isWell(t)
  })

  await t.test('its log reports no error, and it ends well', async (t) => {
    await writing.stop()
    const ended = await reader.command.stop()
    t.equal(ended.code, 0)
    t.same(logOf(ended).filter(({ level }) => level >= ERROR_LEVEL || level === 'error').map(({ msg }) => msg), [])
    t.notMatch(ended.stderr, /unhandled|ERR_|TypeError/i)
  })
})
