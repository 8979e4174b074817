/** What a newcomer finds on the pages of systems in a real browser: what a sale is, how to take part in it, and names of people. */
import t from 'tap'
import { personName } from '../../readers/page/person-names.js'
import { needsBrowser, openPage, startBrowser } from '../../test/browser.js'
import { CALM, seen } from '../../test/page/watching.js'
import { sharedDeployment } from '../../test/shared.js'
import { startGateway, startReader } from '../../test/services.js'

t.test('pages of systems say what they show, and give people names', needsBrowser, async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const place = { redisUrl, keyPrefix }
  const gateway = await startGateway(t, place)
  const [reader, browser] = await Promise.all([
    startReader(t, { ...place, flags: ['--read-from', 'primary', '--gateway-url', gateway.url] }), startBrowser(t)
  ])
  const send = async (/** @type {string} */ method, /** @type {string} */ path, /** @type {object} */ body) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': path.replaceAll('/', '-') }
    const { status, body: text } = await gateway.send(method, path, JSON.stringify(body), headers)
    t.match(String(status), /^20[01]$/, `${path}: ${text}`)
    return JSON.parse(text)
  }
  const { page, faults } = await openPage(t, browser, { ...CALM, viewport: { width: 390, height: 844 } })
  const shows = (/** @type {string} */ where, /** @type {RegExp} */ pattern) =>
    seen(async () => pattern.test(await page.locator(where).innerText()))
  const title = (/** @type {string} */ where) => page.locator(where).getAttribute('title')

  await page.goto(`${reader.url}/sales`)
  await shows('#none', /npm start demo -- sales/)

  // a reader that is so busy that the stream does not begin
  await page.route('**/live', () => {})
  await send('PUT', '/v1/sales/first', { stock: 100, mode: 'queue', openAt: Date.now() + 3_600_000, holdMs: 5000, admitConcurrency: 20 })
  await shows('#title', /^First, 100 units by queue at .*: not open yet$/)
  await shows('#how', /^It opens in .*\. People join a queue, also before the sale opens\. 20 at a time .* 5 s to claim a unit/)
  await shows('#part', /enter a name/)
  await shows('#press', /^Join the queue$/)
  t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, 'nothing is cut off')

  await send('PUT', '/v1/sales/shoes', { stock: 5, mode: 'direct' })
  await send('POST', '/v1/sales/shoes/claims', { userId: 'ann' })
  await page.unrouteAll()
  // not only another hash of the page that is open
  await page.goto(`${reader.url}/auctions`)
  await page.goto(`${reader.url}/sales#shoes`)
  await shows('#how', /^Claims are decided in the order of arrival/)
  const { items: [{ userId }] } = /** @type {any} */ (await (await fetch(`${reader.url}/v1/sales/shoes/claims`)).json())
  await shows('#claims', new RegExp(`${personName(userId)}\\s+got one`))
  t.equal(await title('#claims td:nth-child(2)'), userId)

  await send('PUT', '/v1/auctions/lamp', { startPrice: '10.00', minIncrement: '1.00', closeAt: Date.now() + 3_600_000, currency: 'EUR' })
  const { bidder } = await send('POST', '/v1/auctions/lamp/bids', { userId: 'ann', amount: '12.50' })
  await page.goto(`${reader.url}/auctions#lamp`)
  await shows('#standing', new RegExp(`^${personName(bidder)} leads$`))
  await shows('#latest', new RegExp(personName(bidder)))
  t.equal(await title('#standing'), bidder)
  t.same(faults, [])
})
