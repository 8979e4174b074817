/** The page where the reader requires a token, or streams are at their limit: it asks for a token; it polls. */
import t from 'tap'
import { needsBrowser, startBrowser } from '../../test/browser.js'
import { bearer, tokenFileFor } from '../../test/http/guarded.js'
import { sharedDeployment } from '../../test/shared.js'
import { CALM, seen, startWatching, withoutRefusals } from '../../test/page/watching.js'

const TOKEN = 'a-token-of-the-test'
const FEW = { token: 'a-token-of-few', scopes: ['read'], feeds: ['small'] }

const browser = needsBrowser.skip ? undefined : await startBrowser(t)

t.test('the page asks for a token, and shows what it permits', needsBrowser, async (t) => {
  const { file, write } = await tokenFileFor(t, [{ token: TOKEN, scopes: ['read'], feeds: ['*'] }, FEW])
  const { open, show, reader } = await startWatching(t, await sharedDeployment(t), { browser, flags: ['--tokens', file] })
  const { keepPutting } = await open('latest')
  keepPutting(['a', 'b', 'c'])
  await (await open('small', { windowMs: 600_000 })).put(['one', '1'])
  const { page, shows, rows, faults } = await show(t, '/?feed=latest&id=a', { ...CALM, viewport: { width: 390, height: 844 } })
  const field = page.getByRole('textbox', { name: 'Token' })
  const type = async (/** @type {string} */ text) => {
    await field.fill(text)
    await page.getByRole('button', { name: 'Apply' }).click()
  }

  await t.test('without a token it shows nothing else', async (t) => {
    await field.waitFor()
    await shows('token-why', /^This reader requires a token\.$/)
    await shows('state', /^token required$/)
    t.ok(await field.evaluate((element) => element === document.activeElement))
    for (const id of ['flow', 'facts', 'items', 'servers', 'none']) t.equal(await page.locator(`#${id}`).isVisible(), false, id)
    t.same(await page.locator('footer a:visible').allTextContents(), ['Readiness'], 'links go without the token')
    await type('two words')
    await shows('token-why', /without spaces/)
    await type('another')
    await shows('token-why', /rejected this token/)
  })

  await t.test('with a token for another feed it offers that feed', async (t) => {
    await type(FEW.token)
    await shows('token-why', /not permit reading/)
    await shows('state', /^not permitted$/)
    t.equal(await page.locator('#items').isVisible(), false)
    await seen(async () => (await page.locator('#feed option').allTextContents()).includes('small'))
    await page.locator('#feed').selectOption('small')
    await seen(async () => (await rows())[0]?.[0] === 'one')
    t.equal(await field.isVisible(), false)
    t.same(await page.locator('#feed option').allTextContents(), ['small'])
    await page.goto(`${reader.url}/?feed=latest&id=a`)
  })

  await t.test('with the right token it is live, also after a reload', async (t) => {
    await shows('token-why', /not permit reading/)
    await type(TOKEN)
    await shows('items-how', /updated live$/)
    await seen(async () => !await field.isVisible())
    t.equal(await page.evaluate(() => `${Object.values(sessionStorage)} ${Object.values(localStorage)} ${document.cookie}`), `${TOKEN}  `,
      'the token stays in this tab')
    t.notMatch(page.url(), TOKEN)
    await page.reload()
    await shows('items-how', /updated live$/)
    t.equal(await field.isVisible(), false)
  })

  await t.test('a revoked token brings the question back', async (t) => {
    await write([FEW])
    await shows('token-why', /rejected this token/)
    await shows('state', /^token required$/)
    t.equal(await page.locator('#items').isVisible(), false)
    t.equal((await reader.get('/v1/feeds', bearer(TOKEN))).status, 401)
  })
  t.same(withoutRefusals(faults), [])
})

t.test('the page polls when the reader has no free stream', needsBrowser, async (t) => {
  const { open, show } = await startWatching(t, await sharedDeployment(t), { browser, flags: ['--max-streams', '0'] })
  const { keepPutting } = await open('latest')
  keepPutting(['a', 'b', 'c'])
  const { shows, rows, faults } = await show(t, '/?feed=latest&id=b', CALM)
  await shows('items-how', /updated twice a second: the reader is at its limit of streams/)
  await shows('found-state', /^live$/)
  const before = await rows()
  await seen(async () => (await rows()).join() !== before.join())
  t.same(withoutRefusals(faults), [])
})
