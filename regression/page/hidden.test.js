/** Pages in a real browser let go of their stream while they are hidden, and show what has changed when they are shown again. */
import t from 'tap'
import { needsBrowser, openPage, startBrowser } from '../../test/browser.js'
import { CALM, seen } from '../../test/page/watching.js'
import { sharedDeployment } from '../../test/shared.js'
import { openWriterFor } from '../../test/servers.js'
import { startGateway, startReader } from '../../test/services.js'

t.test('a hidden page has no stream', needsBrowser, async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const place = { redisUrl, keyPrefix }
  const [gateway, reader, { pipeline }, browser] = await Promise.all([
    startGateway(t, place),
    startReader(t, { ...place, flags: ['--read-from', 'primary'] }),
    openWriterFor(t, { ...place, feed: 'shown', layout: 'segments', windowMs: 86_400_000 }),
    startBrowser(t)
  ])
  const send = async (/** @type {string} */ method, /** @type {string} */ path, /** @type {object} */ body) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': path.replaceAll('/', '-') }
    const { status, body: text } = await gateway.send(method, path, JSON.stringify(body), headers)
    t.match(String(status), /^20[01]$/, `${path}: ${text}`)
  }
  const put = async (/** @type {string} */ id) => {
    pipeline.append(Buffer.from(id), Date.now(), Buffer.from('1'))
    await pipeline.flush()
  }
  await put('before')
  await send('PUT', '/v1/auctions/lamp', { startPrice: '10.00', minIncrement: '1.00', closeAt: Date.now() + 3_600_000, currency: 'EUR' })
  await send('PUT', '/v1/sales/shoes', { stock: 5, mode: 'direct' })
  const streams = async () => Number(/^freshet_streams (\d+)$/m.exec(await (await fetch(`${reader.url}/metrics`)).text())?.[1])

  const pages = /** @type {[string, string, RegExp, () => Promise<unknown>, RegExp][]} */ ([
    ['/example?feed=shown', '#items', /before/, () => put('while hidden'), /while hidden[\s\S]*before/],
    ['/auctions#lamp', '#price', /10\.00/, () => send('POST', '/v1/auctions/lamp/bids', { userId: 'ann', amount: '12.50' }), /12\.50/],
    ['/sales#shoes', '#available', /^5$/, () => send('POST', '/v1/sales/shoes/claims', { userId: 'ann' }), /^4$/]
  ])
  for (const [path, where, before, change, after] of pages) {
    const { page, faults } = await openPage(t, browser, CALM)
    const shows = (/** @type {RegExp} */ pattern) => seen(async () => pattern.test(await page.locator(where).innerText()))
    const turn = (/** @type {boolean} */ hidden) => page.evaluate((hidden) => {
      Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, hidden)
    await page.goto(reader.url + path)
    await shows(before)
    await seen(async () => await streams() === 1)
    await turn(true)
    await seen(async () => await streams() === 0)
    await change()
    await turn(false)
    await shows(after)
    t.equal(await streams(), 1, path)
    await turn(true)
    await seen(async () => await streams() === 0)
    t.same(faults, [], path)
  }
})
