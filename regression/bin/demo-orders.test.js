/** The demo of orders as a person sees it in a real browser, who breaks the payment provider there. */
import t from 'tap'
import { startPrimary } from '../../test/bin/demo-auctions.js'
import { needsBrowser, openPage, startBrowser } from '../../test/browser.js'
import { runCommand } from '../../test/commands.js'
import { startDatabase } from '../../test/database.js'
import { eventually } from '../../test/servers.js'

const SLOW = { deadlineMs: 80_000 }

t.test('orders are on their way on the page; a provider that is down holds them up, and loses none', needsBrowser, async (t) => {
  const [primary, database] = await Promise.all([startPrimary(t), startDatabase(t)])
  const command = runCommand(t, ['demo', 'orders', '--replicas', '2', '--redis-url', primary.url, '--database-url', database.url,
    '--port', '0', '--gateway-port', '0'])
  const [, url] = await command.until(/^reader +(\S+)\/orders/m)
  await command.until(/^crowd +100 products/m)
  const browser = await startBrowser(t)
  const { page, faults } = await openPage(t, browser, { viewport: { width: 390, height: 844 } })
  const number = async (/** @type {string} */ id) => parseFloat(await page.textContent(`#${id}`) ?? '')
  await page.goto(`${url}/orders`)
  await eventually(async () => await number('confirmed') > 1 && (await page.locator('#replicas li').count()) === 2, SLOW)
  t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, 'nothing is cut off')
  const provider = page.getByRole('combobox', { name: 'Fault' })
  await provider.selectOption('down')
  await eventually(async () => /open/.test(await page.textContent('#breaker') ?? '') && await number('running') > 5, SLOW)
  await provider.selectOption('none')
  await eventually(async () => (await page.textContent('#breaker')) === 'breaker closed' && await number('running') < 20, SLOW)
  t.equal(await number('letters'), 0)
  t.same(faults, [])
  t.equal((await command.stop()).code, 0)
})

t.test('replicas are for orders only', async (t) => {
  const { code, stderr } = await runCommand(t, ['demo', 'sales', '--replicas', '2']).ended()
  t.equal(code, 2)
  t.match(stderr, /replicas: 2; expected only for the demo orders/)
})
