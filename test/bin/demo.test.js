/** `npm start demo`: its errors; a demo without a crowd; the pages in a real browser. More of them: regression/bin/demo.test.js. */
import t from 'tap'
import { needsBrowser, openPage, startBrowser } from '../browser.js'
import { endOf, runCommand } from '../commands.js'
import { startDatabase } from '../database.js'
import { eventually } from '../servers.js'
import { send, startDemo, startPrimary } from './demo-auctions.js'

t.test('a demo that does not exist', async (t) => {
  for (const words of [[], ['auctoins'], ['auctions', 'more']]) {
    const { code, stderr } = await endOf(t, ['demo', ...words])
    t.equal(code, 2)
    t.match(stderr, /auctions|more/)
  }
  t.match((await endOf(t, ['demo', '--help'])).stdout, /--crowd[^]*--gateway-port/)
})

t.test('without a crowd there are auctions to bid on; Ctrl-C ends it', async (t) => {
  const { command, gatewayUrl, url } = await startDemo(t, ['--crowd', 'no'])
  const { items } = /** @type {any} */ (await (await fetch(`${url}/v1/auctions`)).json())
  t.equal(items.length, 5)
  t.ok(items.every(({ bids, status }) => bids === 0 && status === 'open'))
  const bid = { userId: 'me', amount: items[0].minNext }
  // 503 on a busy machine
  await eventually(async () => (await send(`${gatewayUrl}/v1/auctions/${items[0].id}/bids`, 'POST', bid)).status === 201)
  t.equal((await command.stop()).code, 0)
})

t.test('a sale: a person joins the queue on its page, and gets a unit', needsBrowser, async (t) => {
  const [primary, database] = await Promise.all([startPrimary(t), startDatabase(t)])
  const command = runCommand(t, ['demo', 'sales', '--redis-url', primary.url, '--database-url', database.url, '--crowd', 'no',
    '--port', '0', '--gateway-port', '0'])
  const [, gatewayUrl] = await command.until(/^gateway +(\S+)/m)
  const [, url] = await command.until(/^reader +(\S+)\/sales/m)
  await command.until(/^crowd/m)
  const browser = await startBrowser(t)
  const { page, faults } = await openPage(t, browser, { viewport: { width: 390, height: 844 } })
  await page.goto(`${url}/sales`)
  await eventually(async () => /^100 units by queue/.test(await page.textContent('#title') ?? ''))
  // the sales of the demo last a minute, and its holds 5 s
  t.equal((await send(`${gatewayUrl}/v1/sales/own`, 'PUT', { stock: 3, mode: 'queue', holdMs: 300_000 })).status, 201)
  await page.goto(`${url}/sales#own`)
  await eventually(async () => /^3 units by queue.*: open$/.test(await page.textContent('#title') ?? ''))
  await page.fill('#user', 'ann')
  await page.click('#press')
  await eventually(async () => /You got one/.test(await page.textContent('#outcome') ?? ''))
  await eventually(async () => (await page.textContent('#sold')) === '1')
  // claims are read at most twice a second, and at first without the person's own claim
  await eventually(async () => /you/.test(await page.textContent('#claims') ?? ''))
  t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, 'nothing is cut off')
  await eventually(async () => (await database.query("SELECT user_id FROM orders WHERE status = 'sold'"))[0]?.user_id === 'ann')
  t.same(faults, [])
  t.equal((await command.stop()).code, 0)
})

t.test('the page', needsBrowser, async (t) => {
  const { gatewayUrl, url } = await startDemo(t)
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
})
