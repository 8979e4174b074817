/** The demo of orders as a person sees it in a real browser, who breaks the payment provider there. */
import { startDemo } from '../../test/bin/demos.js'
import { needsBrowser, openPage, startBrowser } from '../../test/browser.js'
import { startDatabase } from '../../test/database.js'
import { nightTest } from '../../test/scope.js'
import { eventually } from '../../test/servers.js'
import { sharedDeployment } from '../../test/shared.js'

const SLOW = { deadlineMs: 80_000 }

nightTest('orders are on their way on the page; a provider that is down holds them up, and loses none', needsBrowser, async (t) => {
  const database = await startDatabase(t)
  const { command, url } = await startDemo(t, 'orders', await sharedDeployment(t), ['--workers', '2', '--database-url', database.url])
  await command.until(/^crowd +100 products/m)
  const browser = await startBrowser(t)
  const { page, faults } = await openPage(t, browser, { viewport: { width: 390, height: 844 } })
  const number = async (/** @type {string} */ id) => parseFloat(await page.textContent(`#${id}`) ?? '')
  await page.goto(`${url}/orders`)
  await eventually(async () => await number('confirmed') > 1 && (await page.locator('#workers li').count()) === 2, SLOW)
  t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, 'nothing is cut off')
  await page.locator('#sku').fill('no-such-thing')
  await page.locator('#press').click()
  await eventually(async () => /no product/.test(await page.textContent('#outcome') ?? ''), SLOW)
  await page.locator('#sku').fill(String(await page.locator('#products option').first().getAttribute('value')))
  await page.locator('#press').click()
  await eventually(async () => /^Placed/.test(await page.textContent('#outcome') ?? ''), SLOW)
  await eventually(async () => /confirmed after|cancelled after/.test(await page.textContent('#timeline-title') ?? ''), SLOW)
  const provider = page.getByRole('combobox', { name: 'Fault' })
  await provider.selectOption('down')
  await eventually(async () => /open/.test(await page.textContent('#breaker') ?? '') && await number('running') > 5, SLOW)
  await provider.selectOption('none')
  await eventually(async () => (await page.textContent('#breaker')) === 'breaker closed' && await number('running') < 20, SLOW)
  t.equal(await number('letters'), 0)
  t.same(faults.filter((fault) => !/404/.test(fault)), [], 'besides the product that does not exist')
  t.equal((await command.stop()).code, 0)
})
