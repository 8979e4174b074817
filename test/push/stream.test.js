import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { createBudget } from '../../src/push/caps.js'
import { createEvents, eventOf } from '../../src/push/events.js'
import { Stream } from '../../src/push/stream.js'

/** @param {number} ts @param {string} value */
function frameOf (ts, value) {
  const events = createEvents('utf8')
  events.begin('items')
  events.put('a', { ts, value: Buffer.from(value), deleted: false })
  return events.end(`p${ts}`)
}

t.test('what waits is counted for the budget, also before the first event, and is looked at only while there is any', async (t) => {
  let looks = 0
  let waiting = 7
  const response = Object.assign(new EventEmitter(), {
    write (/** @type {string} */ text) { waiting += text.length },
    setTimeout () {}
  })
  Object.defineProperty(response, 'writableLength', {
    get () {
      looks++
      return waiting
    }
  })
  const budget = createBudget()
  const stream = new Stream({
    response: /** @type {any} */ (response),
    budget,
    ids: null,
    limit: 0,
    encoding: 'utf8',
    periodMs: 10,
    isPermitted: () => true,
    onEnd () {}
  })
  t.equal(budget.waiting, 7)
  stream.send('abc')
  t.equal(budget.waiting, 10)
  waiting = 0
  t.ok(stream.hasRoom())
  t.equal(budget.waiting, 0)
  const before = looks
  stream.measure()
  t.ok(stream.hasRoom())
  t.equal(looks, before)
})

t.test('events arrive whole and in order, over HTTP/1.1 and from a client of HTTP/1.0', async (t) => {
  const frames = Array.from({ length: 100 }, (_, i) => frameOf(i + 1, 'v'.repeat(i * 100)))
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write('retry: 1\n\n')
    const stream = new Stream({
      response, budget: createBudget(), ids: null, limit: 0, encoding: 'utf8', periodMs: 10, isPermitted: () => true, onEnd () {}
    })
    for (const [i, frame] of frames.entries()) {
      stream.sendFrame(frame, performance.now())
      if (i % 3 === 0) stream.send(': \n\n')
    }
    stream.end('stopped', 'retry: 2\n\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const expected = `retry: 1\n\n${frames.map((frame, i) => eventOf(frame) + (i % 3 === 0 ? ': \n\n' : '')).join('')}retry: 2\n\n`

  const response = await fetch(`http://127.0.0.1:${port}/`)
  t.equal(response.headers.get('transfer-encoding'), 'chunked')
  t.equal(await response.text(), expected)
  const socket = connect(port, '127.0.0.1')
  socket.write('GET / HTTP/1.0\r\n\r\n')
  const [, body] = (await text(socket)).split(/\r\n\r\n(.*)/s)
  t.equal(body, expected)
})
