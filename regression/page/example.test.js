/** The example page in a real browser: items change, the reader restarts, a feed is created later, the clock is ahead. */
import t from 'tap'
import { needsBrowser, openPage, startBrowser } from '../../test/browser.js'
import { runCommand } from '../../test/commands.js'
import { freePort, openWriterFor, startServer } from '../../test/servers.js'
import { seen } from '../../test/page/watching.js'
import { scopedEngines } from '../../test/scope.js'
import { startReader } from '../../test/services.js'

const MARKUP = '<img src=x onerror="document.title=\'taken\'">'

t.test('the example at /example', needsBrowser, async (t) => {
  const [engine] = await scopedEngines()
  const server = await startServer(t, { engine })
  const port = await freePort()
  const reader = runCommand(t, ['reader', '--redis-url', server.url, '--read-from', 'primary', '--port', String(port)])
  await reader.until(/serving at/)
  const open = async (/** @type {string} */ feed, windowMs = 86_400_000) => {
    const { pipeline } = await openWriterFor(t, { redisUrl: server.url, feed, layout: 'segments', windowMs })
    return async (/** @type {string} */ id, /** @type {string} */ value) => {
      pipeline.append(Buffer.from(id), Date.now(), Buffer.from(value))
      await pipeline.flush()
    }
  }
  const browser = await startBrowser(t)
  const watch = async (/** @type {string} */ feed, aheadMs = 0) => {
    const { page, faults, origins } = await openPage(t, browser)
    await page.addInitScript(`const now = Date.now; Date.now = () => now() + ${aheadMs}`)
    await page.goto(`http://127.0.0.1:${port}/example?feed=${feed}`)
    return {
      page,
      faults,
      origins,
      rows: () =>
        page.locator('#items tr').evaluateAll((rows) => rows.map((row) => `${row.cells[0].textContent} ${row.cells[2].textContent}`)),
      state: () => page.locator('#state').textContent()
    }
  }

  const put = await open('shown')
  for (let n = 0; n < 30; n++) await put(`id-${n}`, String(n))
  const { page, rows, state, faults, origins } = await watch('shown')
  await seen(async () => (await rows()).length === 20)
  t.same((await rows()).slice(0, 2), ['id-29 29', 'id-28 28'])
  t.equal(await state(), 'connected')
  await put('id-12', MARKUP)
  await seen(async () => (await rows())[0] === `id-12 ${MARKUP}`)
  t.same([(await rows()).length, await page.locator('#items img').count(), await page.title()], [20, 0, 'Live feed'])
  t.same([faults, origins], [[], [`http://127.0.0.1:${port}`]])

  await reader.kill()
  await seen(async () => await state() === 'connection lost, reconnecting')
  await put('id-away', 'while the reader was down')
  await startReader(t, { redisUrl: server.url, port, flags: ['--read-from', 'primary'] })
  await seen(async () => (await rows())[0] === 'id-away while the reader was down')
  t.equal(await state(), 'connected')

  const later = await watch('later', 70_000)
  await seen(async () => await later.state() === 'no items yet')
  const putLater = await open('later', 3000)
  await seen(async () => {
    await putLater('a', 'soon gone')
    return (await later.rows())[0] === 'a soon gone'
  })
  t.equal(await later.state(), 'connected')
  await seen(async () => (await later.rows()).length === 0)
})
