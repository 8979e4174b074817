/** `npm start demo`: its errors, and a demo in a real browser. The others: regression/bin/demo*.test.js. */
import t from 'tap'
import { needsBrowser, openPage, startBrowser } from '../browser.js'
import { wholeTest } from '../scope.js'
import { eventually } from '../servers.js'
import { sharedDeployment } from '../shared.js'
import { send, startDemo } from './demos.js'
import { endOfMain } from './in-process.js'

t.test('a demo that does not exist', async (t) => {
  for (const words of [[], ['auctoins'], ['auctions', 'more']]) {
    t.match(await endOfMain(['demo', ...words]), { code: 2, stderr: /auctions|more/ })
  }
  t.match(await endOfMain(['demo', 'examples']), { code: 2, stderr: /examples is unknown; its path is \.\/examples/ })
  t.match(await endOfMain(['demo', 'aucton', '--port', 'abc', '--bar', '1']),
    { code: 2, stderr: /port: abc .*\n--bar is unknown.*\naucton is unknown; did you mean auctions\?/ }, 'all faults at once')
  t.match(await endOfMain(['demo', 'auctions', '--mode', 'token', '--port', '99999']),
    { code: 2, stderr: /port: 99999 .*\nmode: token; expected none, since the demo auctions does not use it/ })
  t.match(await endOfMain(['demo', 'sales', '--workers', '2']), { code: 2, stderr: /workers: 2; expected none, since the demo sales does not use it/ })
  t.match((await endOfMain(['demo', '--help'])).stdout, /--crowd[^]*--gateway-port/)
})

wholeTest('the page', needsBrowser, async (t) => {
  const { command, gatewayUrl, url } = await startDemo(t, 'auctions', await sharedDeployment(t))
  const browser = await startBrowser(t)
  const { page, faults, origins } = await openPage(t, browser, { viewport: { width: 390, height: 844 } })
  const text = async (/** @type {string} */ id) => await page.textContent(`#${id}`) ?? ''
  await page.goto(`${url}/auctions`)
  await eventually(async () => (await page.locator('#open li').count()) === 5)

  await t.test('the price moves, the time runs, bids are listed', async (t) => {
    const before = [await text('price'), await text('left')]
    await eventually(async () => (await text('price')) !== before[0] && (await text('left')) !== before[1])
    await eventually(async () => (await page.locator('#latest tr').count()) > 2)
    t.match(await text('left'), /^\d:\d\d$|closing|closed/)
    t.match(await text('standing'), / leads$/)
    const width = await page.evaluate(() => document.documentElement.scrollWidth)
    t.equal(width, 390, 'nothing is cut off')
  })

  await t.test('a person bids, leads, and is outbid; a bid too low hears so', async (t) => {
    // the crowd may be quicker
    await eventually(async () => {
      await page.fill('#amount', (Number(await text('next')) + 3).toFixed(2))
      await page.click('#bid button')
      await page.waitForFunction(() => document.getElementById('outcome')?.textContent !== '' ||
        document.getElementById('notice')?.textContent !== '')
      return /^Accepted: you lead/.test(await text('outcome')) || /outbid/.test(await text('notice'))
    })
    await eventually(async () => /^You were outbid: \d+\.\d\d EUR$/.test(await text('notice')))
    t.ok(await page.locator('#latest tr.mine').count() <= 12)
    // the reply to an earlier bid may be late
    await eventually(async () => {
      await page.fill('#amount', '0.01')
      await page.click('#bid button')
      await page.waitForTimeout(300)
      return /^Too low: the next bid is \d+\.\d\d or more$/.test(await text('outcome'))
    })
    await page.fill('#amount', 'much')
    await page.click('#bid button')
    await eventually(async () => /^amount: "much"; expected a decimal/.test(await text('outcome')))
  })

  await t.test('a closing auction is seen to close', async (t) => {
    const id = 'walnut-chair-1'
    const path = `${gatewayUrl}/v1/auctions/${id}`
    await send(path, 'PUT', { startPrice: 5, minIncrement: 1, closeAt: Date.now() + 3_600_000, currency: 'EUR' })
    await page.goto(`${url}/auctions#${id}`)
    await eventually(async () => (await text('title')) === 'Walnut chair')
    await page.fill('#amount', '5')
    await page.click('#bid button')
    await eventually(async () => (await text('standing')) === 'You lead')
    await send(`${path}/close`, 'POST')
    await eventually(async () => (await text('left')) === 'closed')
    await eventually(async () => (await text('notice')) === 'Closed: you won')
    t.equal(await text('standing'), 'Sold to you')
    t.notOk(await page.isVisible('#bid'))
  })

  t.same(faults.filter((fault) => !/422/.test(fault)), [])
  t.same(origins.sort(), [url, gatewayUrl].sort(), 'nothing from elsewhere')
  t.equal((await command.stop()).code, 0, 'Ctrl-C ends it')
})
