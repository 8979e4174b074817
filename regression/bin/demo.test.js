/** The page of auctions in a real browser: what a person sees who is alone with it. The command: test/bin/demo.test.js. */
import t from 'tap'
import { runCrowd } from '../../src/systems/auctions/crowd.js'
import { send } from '../../test/bin/demos.js'
import { needsBrowser, openPage, startBrowser } from '../../test/browser.js'
import { eventually, freePort } from '../../test/servers.js'
import { startConsumers, startGateway, startReader } from '../../test/services.js'
import { sharedDeployment } from '../../test/shared.js'

/** What the demo runs, in this process, with auctions on which only the test bids. @param {import('tap').Test} t */
async function startQuietDemo (t) {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const target = { redisUrl: primary.url, keyPrefix }
  const port = await freePort()
  const { url: gatewayUrl } = await startGateway(t, { ...target, flags: ['--cors-origin', `http://127.0.0.1:${port}`] })
  await startConsumers(t, { ...target, flags: ['--systems', 'auctions'] })
  const { url } = await startReader(t, { ...target, port, flags: ['--gateway-url', gatewayUrl] })
  const over = new AbortController()
  t.teardown(() => over.abort())
  await new Promise((resolve) => { runCrowd({ gatewayUrl, readerUrl: url, isActive: false, signal: over.signal, print: resolve }) })
  return { gatewayUrl, url }
}

t.test('the page without a crowd', needsBrowser, async (t) => {
  const { gatewayUrl, url } = await startQuietDemo(t)
  const browser = await startBrowser(t)
  const { page } = await openPage(t, browser)
  const text = async (/** @type {string} */ id) => await page.textContent(`#${id}`) ?? ''

  await t.test('without a crowd there are auctions to bid on', async (t) => {
    const { items } = /** @type {any} */ (await (await fetch(`${url}/v1/auctions`)).json())
    t.equal(items.length, 5)
    t.ok(items.every((/** @type {any} */ { bids, status }) => bids === 0 && status === 'open'))
    const bid = { userId: 'me', amount: items[0].minNext }
    // 503 on a busy machine
    await eventually(async () => (await send(`${gatewayUrl}/v1/auctions/${items[0].id}/bids`, 'POST', bid)).status === 201)
  })

  /** @param {string} id @param {object} terms */
  async function openAuction (id, terms) {
    const path = `${gatewayUrl}/v1/auctions/${id}`
    await send(path, 'PUT', { startPrice: 5, minIncrement: 1, closeAt: Date.now() + 3_600_000, currency: 'EUR', ...terms })
    await page.goto(`${url}/auctions#${id}`)
    await eventually(async () => (await text('standing')) === 'No bid yet')
    return {
      bid: (/** @type {object} */ one) => send(`${path}/bids`, 'POST', { userId: 'ann', ...one }),
      close: () => send(`${path}/close`, 'POST')
    }
  }

  await t.test('a reserve that is met while the page is open', async (t) => {
    const { bid, close } = await openAuction('met-1', { reserve: 10 })
    await bid({ amount: 12 })
    await close()
    await eventually(async () => /^Sold to \S+ \S+$/.test(await text('standing')))
    t.equal(await text('notice'), 'Closed')
  })

  await t.test('a person who leads below the reserve has not won', async (t) => {
    const { close } = await openAuction('unmet-1', { reserve: 10 })
    await page.fill('#amount', '5')
    await page.click('#bid button')
    await eventually(async () => (await text('standing')) === 'You lead')
    await close()
    await eventually(async () => (await text('standing')) === 'Not sold: the reserve was not met')
    t.equal(await text('notice'), 'Closed')
  })

  await t.test('an auction ends in time', async (t) => {
    const path = `${gatewayUrl}/v1/auctions/ended-1`
    await send(path, 'PUT', { startPrice: 5, minIncrement: 1, closeAt: Date.now() + 2000, currency: 'EUR' })
    await page.goto(`${url}/auctions#ended-1`)
    await eventually(async () => (await text('standing')) === 'Closed without a bid')
    t.equal(await text('left'), 'closed')
  })

  await t.test('a bid that the maximum of another answers never led, so it is not outbid', async (t) => {
    const { bid } = await openAuction('maximum-1', {})
    await bid({ amount: 5, max: 200 })
    for (const amount of ['25', '35']) {
      await page.fill('#amount', amount)
      await page.click('#bid button')
      await eventually(async () => (await text('price')) === `${Number(amount) + 1}.00`)
      await eventually(async () => /another bidder's maximum/.test(await text('outcome')))
      t.equal(await text('notice'), '')
    }
  })

  await t.test('a person who leads is not outbid by a stream that is behind the reply', async (t) => {
    await page.addInitScript(() => {
      const add = window.EventSource.prototype.addEventListener
      window.EventSource.prototype.addEventListener = function (/** @type {string} */ name, /** @type {any} */ listener) {
        add.call(this, name, name === 'bid' ? (/** @type {any} */ event) => setTimeout(listener, 700, event) : listener)
      }
    })
    await page.reload()
    await openAuction('behind-1', {})
    await page.click('#bid button')
    await eventually(async () => (await text('outcome')) === 'Accepted: you lead at 5.00')
    t.equal(await text('notice'), '')
    await eventually(async () => (await text('standing')) === 'You lead')
    t.equal(await text('outcome'), 'Accepted: you lead at 5.00')
  })

  await t.test('the list is updated, and keeps the keyboard focus', async (t) => {
    const link = page.locator('#open a').last()
    await link.focus()
    const left = await link.textContent()
    await eventually(async () => (await link.textContent()) !== left)
    t.equal(await page.evaluate(() => document.activeElement?.tagName), 'A')
  })

  await t.test('an auction that does not exist yet is not shown, until it does', async (t) => {
    await page.goto(`${url}/auctions#later-1`)
    await eventually(async () => (await text('state')) === 'auction not available')
    t.notOk(await page.isVisible('#auction'))
    await openAuction('later-1', {})
    await eventually(() => page.isVisible('#auction'))
    t.equal(await text('title'), 'Later')
  })
})
