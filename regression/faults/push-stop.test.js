/** A reader that stops with many clients: it ends in time, sends each a retry delay, and they resume elsewhere without a gap. */
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { askAt, logOf, runCommand, runReader } from '../../test/commands.js'
import { metricsOf, openSocket, requestText } from '../../test/push/live-client.js'
import { startResuming } from '../../test/push/resuming-client.js'
import { openWritten } from '../../test/push/written.js'
import { eventually, startServer } from '../../test/servers.js'
import { nightly, scopedEngines } from '../../test/scope.js'

const STOPS_WITHIN_MS = 10_000
/** of all clients: these take nothing, those follow all ids, the others some */
const STALLED = nightly(20, 6)
const OF_ALL = nightly(60, 10)
const STREAMS = nightly(500, 50)
const IDS = 200
const LARGE_IDS = 400
const LARGE = 'v'.repeat(8000)
const DEADLINE_MS = 90_000
const TICK_MS = 50
/** of pino */
const ERROR_LEVEL = 50
const PATH = '/v1/feeds/busy/live'

/**
 * Stops a reader, and takes the time that this process saw pass: while the machine is too busy for either, nothing counts.
 * @param {import('../../test/commands.js').RunningCommand} command
 */
async function stop (command) {
  let seenMs = 0
  const timer = setInterval(() => { seenMs += TICK_MS }, TICK_MS)
  const ended = await command.kill('SIGTERM')
  clearInterval(timer)
  return { ...ended, seenMs }
}

/** @param {import('tap').Test} t @param {Awaited<ReturnType<typeof stop>>} ended */
function endedWell (t, ended) {
  t.same([ended.code, ended.signal], [0, null])
  t.ok(ended.seenMs < STOPS_WITHIN_MS, `${ended.seenMs} ms`)
  t.same(logOf(ended).filter(({ level }) => level >= ERROR_LEVEL || level === 'error').map(({ msg }) => msg), [])
  t.notMatch(ended.stderr, /unhandled|ERR_|TypeError/i)
}

/**
 * How a request ends.
 * @param {string} url
 * @param {Agent} [agent]
 * @returns {Promise<string | undefined>} its status, or the code of an error
 */
const outcomeOf = (url, agent) => new Promise((resolve) => {
  let last = ''
  request(url + PATH, { agent }).once('error', (/** @type {any} */ { code }) => resolve(code)).once('response', (response) => {
    response.on('data', (bytes) => { last = (last + bytes).slice(-20) }).on('error', () => {})
      // one that was begun just before is ended as all others are
      .once('close', () =>
        resolve(response.statusCode === 200 ? /retry: \d+\n\n$/.test(last) ? 'ended with retry' : 'cut' : String(response.statusCode)))
  }).end()
})

const [engine] = await scopedEngines()
const server = await startServer(t, { engine })
const flags = ['--read-from', 'primary']

t.test(`${STREAMS} streams, and no client misses a newest version`, async (t) => {
  const first = await runReader(t, { redisUrl: server.url, flags })
  const second = await runReader(t, { redisUrl: server.url, flags })
  const urls = [first.url, second.url]
  const written = await openWritten(t, { redisUrl: server.url, feed: 'busy' })
  await written.put(...Array.from({ length: LARGE_IDS }, (_, n) => /** @type {[string, string]} */ ([`large-${n}`, LARGE])))
  const writing = written.keepWriting({ ids: IDS, perSlice: 10, everyMs: 20, valueAt: (n) => `${n}` })

  const stalled = Array.from({ length: STALLED }, () => startResuming(t, urls, `${PATH}?limit=${IDS + LARGE_IDS}`, { isReading: false }))
  const ofAll = Array.from({ length: OF_ALL }, () => startResuming(t, urls, `${PATH}?limit=${IDS}&maxRate=2`))
  const ofSome = Array.from({ length: STREAMS - OF_ALL - STALLED }, (_, n) => {
    const ids = Array.from({ length: 5 }, (_, i) => `id-${(n + i * 40) % IDS}`)
    return { ids, client: startResuming(t, urls, `${PATH}?${ids.map((id) => `id=${id}`).join('&')}&maxRate=4`) }
  })
  const reading = [...ofAll, ...ofSome.map(({ client }) => client)]
  await eventually(() => reading.every(({ visit, position }) => visit.names.includes('items') && position !== ''),
    { deadlineMs: DEADLINE_MS })
  await eventually(async () => {
    const metrics = await metricsOf(first)
    return metrics.get('freshet_streams') === STREAMS && Number(metrics.get('freshet_stream_buffered_bytes')) > STALLED * 32 * 1024
  }, { deadlineMs: DEADLINE_MS })

  await t.test('all get a retry delay, and the process ends in time though some do not read; requests during the stop ' +
    'are refused', async (t) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 5 })
    t.teardown(() => agent.destroy())
    await Promise.all(Array.from({ length: 5 }, async () => {
      const [response] = await once(request(`${first.url}/livez`, { agent }).end(), 'response')
      await response.resume().toArray()
    }))
    const stopping = stop(first.command)
    const over = new AbortController()
    stopping.finally(() => over.abort())
    await first.command.until(/"msg":"stopping"/)
    const onOld = await Promise.all(Array.from({ length: 5 }, () => outcomeOf(first.url, agent)))
    // the others never take anything while it lives
    for (const client of stalled.slice(0, STALLED / 2)) client.read()
    /** @type {Set<string | undefined>} */
    const outcomes = new Set(onOld)
    while (!over.signal.aborted) {
      outcomes.add(await outcomeOf(first.url))
      await pause(20)
    }
    outcomes.delete('ended with retry')
    for (const known of ['503', 'ECONNREFUSED', 'ECONNRESET']) outcomes.delete(known)
    t.same([...outcomes], [], 'refused, in one way or another')
    endedWell(t, await stopping)
    for (const client of stalled) client.read()
  })

  await t.test('clients resume at another reader', async (t) => {
    const all = [...reading, ...stalled]
    await eventually(() => all.every(({ visits }) => visits.some(({ url, names }) => url === second.url && names.includes('items'))),
      { deadlineMs: DEADLINE_MS })
    t.same(reading.filter(({ visits: [{ isWhole, isToldWhen }] }) => !isWhole || !isToldWhen).length, 0,
      'clients that read get a retry delay and a complete response')
    t.same(reading.filter(({ visits }) => visits.find(({ url }) => url === second.url)?.from === '').length, 0,
      'each came with its position')
    t.equal((await metricsOf(second)).get('freshet_streams'), STREAMS)
    for (const client of all) {
      if (client.resets.length + client.unasked + client.wentBack.length > 0) {
        t.fail(`${client.resets} ${client.unasked} ${client.wentBack.slice(0, 3)}`)
      }
    }
  })

  await t.test('and at the same reader, after it restarts', async (t) => {
    const { port } = new URL(second.url)
    const came = reading.map(({ visits }) => visits.length)
    endedWell(t, await stop(second.command))
    const again = runCommand(t, ['reader', '--redis-url', server.url, '--port', port, ...flags])
    await again.until(/serving at/)
    const all = [...reading, ...stalled]
    await eventually(() => reading.every(({ visits }, i) => visits.slice(came[i]).some(({ names }) => names.includes('items'))),
      { deadlineMs: DEADLINE_MS })
    await eventually(async () => (await metricsOf(askAt(second.url))).get('freshet_streams') === STREAMS, { deadlineMs: DEADLINE_MS })
    await writing.stop()
    const small = [...written.ledger.keys()].filter((id) => id.startsWith('id-'))
    await written.reaches(ofAll, small)
    await written.reaches(stalled)
    await Promise.all(ofSome.map(({ client, ids }) => written.reaches([client], ids)))
    t.same(ofSome.filter(({ client, ids }) => [...client.items.keys()].some((id) => !ids.includes(id))).length, 0,
      'no client got ids that it did not request')
    for (const client of all) {
      if (client.resets.length + client.unasked + client.wentBack.length > 0) {
        t.fail(`${client.resets} ${client.unasked} ${client.wentBack.slice(0, 3)}`)
      }
    }
    await Promise.all(all.map(({ close }) => close()))
    endedWell(t, await stop(again))
  })
})

t.test('requests that wait for silent servers do not delay the stop', async (t) => {
  const silent = await startServer(t, { engine })
  const reader = await runReader(t, { redisUrl: silent.url, flags })
  const written = await openWritten(t, { redisUrl: silent.url, feed: 'busy' })
  await written.put(['a', '1'])
  const client = startResuming(t, [reader.url], PATH)
  await eventually(() => client.position !== '')
  const late = await openWritten(t, { redisUrl: silent.url, feed: 'late' })
  await late.put(['a', '1'])
  silent.freeze()
  const sockets = await Promise.all(['late', 'late', 'absent', 'busy'].map((feed) =>
    openSocket(t, reader.url, requestText(`/v1/feeds/${feed}/live`))))
  const closed = Promise.all(sockets.map((socket) => once(socket.resume(), 'close')))
  await reader.get('/livez')
  endedWell(t, await stop(reader.command))
  await closed
  t.equal(client.visits[0].isToldWhen, true)
  t.same(client.resets, [])
  await client.close()
  silent.thaw()
})
