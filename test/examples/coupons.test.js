/** The second example: coupons, with members, a list of claimants, rows in PostgreSQL and a page. */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import coupons from '../../examples/coupons/index.js'
import { checkRule } from '../../src/systems/index.js'
import { needsBrowser, openPage, startBrowser } from '../browser.js'
import { sharedDatabase } from '../database.js'
import { exampleOf, patternOf } from '../docs/examples.js'
import { eventually, freePort } from '../servers.js'
import { startConsumers, startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'

const run = promisify(execFile)
const EXAMPLE = new URL('../../examples/coupons/', import.meta.url)
const [{ url: databaseUrl, query }, { primary: { url: redisUrl }, keyPrefix }] = await Promise.all([sharedDatabase(t), sharedDeployment(t)])

t.test('its certain rejections agree with its Lua', async (t) => {
  const { accepted } = await checkRule(coupons.rules.campaign, {
    redisUrl,
    keyPrefix,
    runs: 20,
    commands (random) {
      const op = ['create', 'claim', 'claim', 'claim', 'end'][Math.floor(5 * random())]
      return op === 'create' ? [op, '3', '2', '2145916800000'] : op === 'claim' ? [op, random() < 0.5 ? 'ann' : 'bob'] : [op]
    }
  })
  t.ok(accepted > 20, `${accepted} accepted`)
})

t.test('it imports public exports alone', async (t) => {
  const names = (await readdir(EXAMPLE, { recursive: true, withFileTypes: true })).filter((one) => one.isFile())
  const texts = await Promise.all(names.map(({ parentPath, name }) => readFile(`${parentPath}/${name}`, 'utf8')))
  for (const text of texts) t.notMatch(text, /\.\.\/\.\.\/src/)
})

t.test('a campaign: claims, claimants, rows, its end, and the page', async (t) => {
  const flags = ['--systems', fileURLToPath(new URL('index.js', EXAMPLE)), '--database-url', databaseUrl]
  const port = await freePort()
  const readerUrl = `http://127.0.0.1:${port}`
  const gateway = await startGateway(t, { redisUrl, keyPrefix, flags: [...flags, '--cors-origin', readerUrl] })
  const ofReader = [...flags, '--read-from', 'primary', '--gateway-url', gateway.url]
  const [reader] = await Promise.all([
    startReader(t, { redisUrl, keyPrefix, port, flags: ofReader }), startConsumers(t, { redisUrl, keyPrefix, flags })
  ])
  /** @param {string} method @param {string} path @param {object} body */
  const send = (method, path, body) =>
    gateway.send(method, `/v1/campaigns/${path}`, JSON.stringify(body), { 'content-type': 'application/json' })

  await t.test('the session of its README prints what is shown', async (t) => {
    const [commands, printed] = await exampleOf('examples/coupons/README.md', 'coupons')
    const shell = commands.replaceAll('curl', 'curl -s -w "\\n"').replaceAll('http://127.0.0.1:8081', gateway.url)
      .replaceAll('http://127.0.0.1:8080', reader.url)
    const { stdout } = await run('bash', ['-c', shell])
    t.match(stdout.trim(), patternOf(printed))
  })

  await t.test('who has got one: masked in public, by name for those who may', async (t) => {
    await reader.get('/v1/campaigns/spring?minSeq=3')
    const { items } = (await reader.get('/v1/campaigns/spring/coupons')).json
    t.match(items, [{ type: 'claimed', number: 2, left: 0 }, { type: 'claimed', number: 1, left: 1 }, { type: 'created' }])
    t.notMatch(JSON.stringify(items), /"(ann|bob)"/)
    await eventually(async () => (await query('SELECT person FROM coupon')).length === 2)
    t.match((await reader.get('/v1/people/ann/coupons')).json, { items: [{ campaign: 'spring', number: 1 }], next: null })
  })

  await t.test('it ends in time', async (t) => {
    const endsAt = Date.now() + 1000
    t.match(await send('PUT', 'short', { total: 5, most: 5, endsAt }), { status: 201 })
    await eventually(async () => (await reader.get('/v1/campaigns/short')).json.ended)
    t.match(await send('POST', 'short/coupons', { person: 'ann' }), { status: 409, json: { code: 'CAMPAIGN_OVER' } })
    t.match(await send('PUT', 'late', { total: 5, most: 5, endsAt }), { status: 409, json: { code: 'CAMPAIGN_OVER' } })
    t.match(await send('POST', 'none/coupons', { person: 'ann' }), { status: 404, json: { code: 'CAMPAIGN_UNKNOWN' } })
  })

  await t.test('the page shows it, and claims', needsBrowser, async (t) => {
    await send('PUT', 'page', { total: 5, most: 1, endsAt: 2145916800000 })
    await send('POST', 'page/coupons', { person: 'ann' })
    const { page, faults } = await openPage(t, await startBrowser(t))
    const text = async (/** @type {string} */ id) => await page.textContent(`#${id}`) ?? ''
    await page.goto(`${readerUrl}/coupons#page`)
    await eventually(async () => (await text('left')) === '4' && await page.locator('#claims li').count() === 1)
    await page.fill('#person', 'bob')
    await page.click('#claim button')
    await eventually(async () => (await text('outcome')) === 'Coupon number 2 is yours')
    await eventually(async () => (await text('left')) === '3' && await page.locator('#claims li').count() === 2)
    await page.click('#claim button')
    await eventually(async () => (await text('outcome')) === 'this person has as many as one may have')
    if (process.env.SHOT) await page.screenshot({ path: process.env.SHOT })
    t.same(faults.filter((fault) => !/409/.test(fault)), [])
  })
})
