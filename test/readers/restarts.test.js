/** Pages show which processes of `npm start` were started again. */
import t from 'tap'
import { createServer } from '../../src/http/index.js'
import { pageRoutes } from '../../readers/routes/page.js'
import { Registry } from 'prom-client'

/** @param {import('tap').Test} t @param {object} options */
async function ask (t, options) {
  const app = createServer({ registry: new Registry() })
  t.teardown(() => app.close())
  app.register(pageRoutes, options)
  return app.inject('/page/restarts.json')
}

t.test('a reader of its own has none, and pages ask once', async (t) => {
  t.match(await ask(t, {}), { statusCode: 204, body: '' })
})

t.test('a reader that npm start runs lists what it heard', async (t) => {
  const restarts = [{ command: 'consumers', how: 'SIGKILL', at: 1, backAt: null }]
  const reply = await ask(t, { restarts: () => restarts })
  t.same(reply.json(), restarts)
  t.equal(reply.headers['cache-control'], 'no-store')
})
