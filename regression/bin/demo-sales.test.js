/** The demo of sales as a person sees it in a real browser. */
import { send, startDemo } from '../../test/bin/demos.js'
import { needsBrowser, openPage, startBrowser } from '../../test/browser.js'
import { startDatabase } from '../../test/database.js'
import { nightTest } from '../../test/scope.js'
import { eventually } from '../../test/servers.js'
import { sharedDeployment } from '../../test/shared.js'

nightTest('a sale: a person joins the queue on its page, and gets a unit', needsBrowser, async (t) => {
  const database = await startDatabase(t)
  const { command, gatewayUrl, url } = await startDemo(t, 'sales', await sharedDeployment(t),
    ['--database-url', database.url, '--crowd', 'no'])
  const browser = await startBrowser(t)
  const { page, faults } = await openPage(t, browser, { viewport: { width: 390, height: 844 } })
  await page.goto(`${url}/sales`)
  await eventually(async () => /, 100 units by queue/.test(await page.textContent('#title') ?? ''))
  // the sales of the demo last a minute, and its holds 5 s
  t.equal((await send(`${gatewayUrl}/v1/sales/own`, 'PUT', { stock: 3, mode: 'queue', holdMs: 300_000 })).status, 201)
  const later = { stock: 3, mode: 'queue', holdMs: 300_000, openAt: Date.now() + 600_000 }
  t.equal((await send(`${gatewayUrl}/v1/sales/later`, 'PUT', later)).status, 201)
  await page.goto(`${url}/sales#later`)
  await eventually(async () => /not open yet$/.test(await page.textContent('#title') ?? ''))
  await page.fill('#user', 'ben')
  await page.click('#press')
  const estimate = async () => (await page.textContent('#outcome'))?.match(/^You are number 1 .* (\d+:\d\d)\.$/)?.[1]
  const shown = await eventually(estimate)
  t.ok(await eventually(async () => (await estimate() ?? shown) !== shown), 'the estimate counts down')
  // a page that is loaded again goes on with what it waited for
  await page.evaluate(() => sessionStorage.clear())
  await page.goto(`${url}/sales#own`)
  await page.reload()
  await eventually(async () => /, 3 units by queue.*: open$/.test(await page.textContent('#title') ?? ''))
  await page.fill('#user', 'ann')
  await page.click('#press')
  await eventually(async () => /You got one/.test(await page.textContent('#outcome') ?? ''))
  await eventually(async () => (await page.textContent('#sold')) === '1')
  t.equal(await page.isDisabled('#press'), true, 'a second press would lose the number of the claim')
  t.equal(await page.textContent('#state'), 'live', 'a sale that is followed already')
  // claims are read at most twice a second, and at first without the person's own claim
  await eventually(async () => /you/.test(await page.textContent('#claims') ?? ''))
  t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, 'nothing is cut off')
  await eventually(async () => (await database.query("SELECT user_id FROM orders WHERE status = 'sold'"))[0]?.user_id === 'ann')
  t.same(faults, [])
  t.equal((await command.stop()).code, 0)
})
