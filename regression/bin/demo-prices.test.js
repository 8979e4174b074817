/** The demo of prices as a person sees it in a real browser, who breaks an exchange there. */
import { startDemo } from '../../test/bin/demos.js'
import { needsBrowser, openPage, startBrowser } from '../../test/browser.js'
import { nightTest } from '../../test/scope.js'
import { eventually } from '../../test/servers.js'
import { sharedDeployment } from '../../test/shared.js'

/** a breaker stays open for 10 s, and again after each probe that is late on a busy machine */
const BREAKER = { deadlineMs: 80_000 }

nightTest('prices: an exchange is broken on the page, its breaker opens, no price expires; then it closes', needsBrowser, async (t) => {
  const { command, url } = await startDemo(t, 'prices', await sharedDeployment(t), ['--crowd', 'no'])
  await command.until(/^crowd +1,000 assets/m)
  const browser = await startBrowser(t)
  const { page, faults } = await openPage(t, browser, { viewport: { width: 390, height: 844 } })
  const text = async (/** @type {string} */ id) => await page.textContent(`#${id}`) ?? ''
  const breakers = () => page.locator('#exchanges .state').allTextContents()
  const isClosed = async () => (await breakers()).join() === Array(3).fill('breaker closed').join()
  await page.goto(`${url}/prices`)
  await eventually(async () => await isClosed() && (await text('fresh')) === '50', BREAKER)
  t.match(await text('tiers'), /all 1,000.*hot 100.*medium 300.*cold 600/)
  t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390, 'nothing is cut off')

  await page.getByRole('combobox', { name: 'Fault of gamma' }).selectOption('down')
  await eventually(async () => (await breakers())[2] === 'breaker open', BREAKER)
  const withoutGamma = () => page.locator('#rows s', { hasText: 'gamma' }).count()
  // all were refreshed from the others
  await eventually(async () => (await withoutGamma()) === 50 && (await text('missing')) === '0', BREAKER)
  await page.getByRole('combobox', { name: 'Fault of gamma' }).selectOption('none')
  await eventually(isClosed, BREAKER)
  await eventually(async () => (await withoutGamma()) === 0 && (await text('missing')) === '0', BREAKER)
  t.same(faults, [])
  t.equal((await command.stop()).code, 0)
})
