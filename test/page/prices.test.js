/** The page of prices, on replies of a reader that a test makes up. */
import { needsBrowser, openPage, startBrowser } from '../browser.js'
import { createReader } from '../readers/fake-queries.js'
import { wholeTest } from '../scope.js'
import { seen } from './watching.js'

const SOURCE = { breaker: 'closed', latencyMs: 21.4, lastError: null }
const OK = ['alpha', 'beta', 'gamma'].map((exchange) => ({ exchange, ok: true, ts: 1 }))
const number = (/** @type {number} */ n) => String(n).padStart(3, '0')

/** 60 hot assets, and 30 of each other tier: hot-000 to cold-029. */
const ASSETS = Object.entries({ hot: 60, medium: 30, cold: 30 }).flatMap(([tier, n]) =>
  Array.from({ length: n }, (_, i) => ({ asset: `${tier}-${number(i)}`, tier, pinned: false })))

wholeTest('the page', needsBrowser, async (t) => {
  const { app } = createReader(t, {}, { pages: { prices: { file: 'prices.html', summary: 'Prices', hasFaults: true } } })
  const address = await app.listen({ port: 0, host: '127.0.0.1' })
  const browser = await startBrowser(t)

  /** @param {import('tap').Test} t @param {{ viewport?: { width: number, height: number }, url?: string }} [options] `url` of exchanges */
  async function show (t, { viewport, url } = {}) {
    const { page, faults, origins } = await openPage(t, browser, { viewport })
    const state = {
      tiers: ASSETS.map((one) => ({ ...one })),
      /** @type {Record<string, object>} by asset, what differs */
      prices: {},
      /** @type {string[][]} assets of each request */
      asked: [],
      isAway: false
    }
    /** @type {Record<string, (url: URL) => object>} */
    const replies = {
      '/v1/assets': () => ({ items: state.tiers, next: null }),
      '/v1/sources': () => ({
        items: [{ exchange: 'alpha', ...SOURCE, url }, { exchange: 'beta', ...SOURCE, breaker: 'open', lastError: 'rate_limited', url }]
      }),
      '/v1/prices' ({ searchParams }) {
        const assets = String(searchParams.get('assets')).split(',')
        state.asked.push(assets)
        const now = Date.now()
        const items = assets.map((asset) => ({
          asset,
          price: '101',
          updatedAt: now - 2000,
          asOf: now - 12_000,
          tier: state.tiers.find((one) => one.asset === asset)?.tier,
          status: 'fresh',
          version: 1,
          sources: OK,
          ...state.prices[asset]
        }))
        return { items, asOf: now }
      },
      history: () => ({ items: [{ at: Date.now() - 60_000, price: '100', version: 1 }] })
    }
    await page.route(({ pathname }) => pathname.startsWith('/v1/'), (route) => {
      const asked = new URL(route.request().url())
      if (state.isAway) return route.fulfill({ status: 503, json: {} })
      const reply = replies[asked.pathname] ?? replies.history
      return route.fulfill({ json: reply(asked) })
    })
    await page.goto(`${address}/prices`)
    await seen(async () => (await page.locator('#fresh').textContent()) === '50')
    const row = async (/** @type {string} */ asset) =>
      (await page.locator('#rows tr', { hasText: asset }).locator('th, td').allTextContents()).map((text) => text.trim())
    const names = () => page.locator('#rows th').allTextContents()
    return { page, faults, origins, state, row, names }
  }

  await t.test('a row has price, signed change, age, tier, status and the sources that counted', async (t) => {
    const { page, faults, origins, state, row } = await show(t)
    state.prices = {
      'hot-001': { price: '99', status: 'stale' },
      'hot-002': { status: 'degraded', sources: [OK[0], { exchange: 'beta', ok: false, reason: 'breaker_open' }, OK[2]] },
      'hot-003': { price: undefined, updatedAt: undefined, asOf: undefined, sources: undefined, status: 'no_quorum' },
      'hot-004': { price: '0.012345678' }
    }
    const facts = async () => (await page.locator('#facts dd').allTextContents()).slice(0, 4).join()
    const hasHistory = async (/** @type {string} */ asset) => (await row(asset))[2] !== '–'
    await seen(async () => (await facts()) === '47,1,1,1' && await hasHistory('hot-000') && await hasHistory('hot-001'))
    t.match(await row('hot-000'), ['hot-000', '101.00', '▲ +1.00 %', '', /^1\d\.\d s$/, 'hot', 'fresh', 'alpha beta gamma'])
    t.match(await row('hot-001'), ['hot-001', '99.000', '▼ −1.00 %', '', /s$/, 'hot', 'stale', 'alpha beta gamma'])
    t.match((await row('hot-002')).slice(6), ['degraded', 'alpha beta breaker open gamma'])
    t.match((await row('hot-003')).toSpliced(2, 2), ['hot-003', '–', '–', 'hot', 'no quorum', ''])
    t.match((await row('hot-004'))[1], '0.012346')
    t.match(await page.locator('#rows polyline').first().getAttribute('points'), /\d/)
    const dead = ['alpha', 'beta', 'gamma'].map((exchange) => ({ exchange, ok: false, reason: 'http_500' }))
    Object.assign(state.prices, {
      'hot-005': { status: 'degraded', failed: { sources: dead } },
      'hot-006': { ...state.prices['hot-003'], status: 'expired', failed: { sources: dead } }
    })
    for (const asset of ['hot-005', 'hot-006']) {
      await seen(async () => (await row(asset)).at(-1) === 'alpha http 500 beta http 500 gamma http 500')
    }
    t.same([faults, origins], [[], [address]])
  })

  await t.test('assets are in pages, by tier and name; found by a part of the name, and sorted', async (t) => {
    const { page, state, names } = await show(t)
    t.same(await names(), ASSETS.slice(0, 50).map(({ asset }) => asset))
    await page.getByRole('button', { name: 'Next page' }).click()
    t.same(await names(), ASSETS.slice(50, 100).map(({ asset }) => asset))
    t.equal(await page.textContent('#range'), '51–100 of 120')
    await page.getByRole('button', { name: 'cold 30' }).click()
    t.equal((await names()).length, 30)
    await page.getByRole('searchbox').fill('D-01')
    t.same(await names(), Array.from({ length: 10 }, (_, i) => `cold-01${i}`))
    await page.getByRole('searchbox').fill('nothing')
    t.ok(await page.isVisible('#none'))

    await page.getByRole('searchbox').fill('')
    await page.getByRole('button', { name: 'hot 60' }).click()
    state.prices = { 'hot-007': { price: '90' }, 'hot-009': { price: '120' } }
    const byChange = page.getByRole('button', { name: 'Change' })
    await byChange.focus()
    await page.keyboard.press('Enter')
    await seen(async () => (await names())[0] === 'hot-007')
    await page.keyboard.press('Enter')
    await seen(async () => (await names())[0] === 'hot-009')
    t.equal(await page.locator('th[aria-sort=descending]').textContent(), 'Change')
  })

  await t.test('prices of a tier are asked for no more often than keeps an asset in it', async (t) => {
    const { page, state } = await show(t)
    await page.getByRole('button', { name: 'medium 30' }).click()
    await seen(() => state.asked.some((assets) => assets.includes('medium-000')))
    await page.getByRole('button', { name: 'all 120' }).click()
    const from = state.asked.length
    await seen(() => state.asked.length >= from + 3)
    t.ok(state.asked.slice(from).every((assets) => assets.length === 50 && assets.every((asset) => asset.startsWith('hot'))))
    await page.getByRole('button', { name: 'medium 30' }).click()
    t.ok(state.asked.flat().filter((asset) => asset === 'medium-000').length <= 2)
  })

  await t.test('an asset that demand moves is named; a reader that is away, too, and the page goes on after', async (t) => {
    const { page, state } = await show(t)
    t.equal(await page.textContent('#moved'), 'None so far')
    Object.assign(state.tiers[119], { tier: 'hot' })
    await seen(async () => (await page.textContent('#moved')) === 'cold-029 cold → hot')
    t.match(await page.textContent('#tiers'), /hot 61.*cold 29/)
    state.isAway = true
    await seen(async () => (await page.textContent('#state')) === 'connecting again')
    state.isAway = false
    await seen(async () => (await page.textContent('#state')) === 'live')
  })

  await t.test('sources without an address have no faults; nothing is cut off on a small screen', async (t) => {
    const { page } = await show(t, { viewport: { width: 390, height: 844 } })
    await seen(async () => (await page.locator('#exchanges li').count()) === 2)
    t.match(await page.locator('#exchanges li').allTextContents(),
      [/^alpha.*breaker closed.*21 ms, no error so far/, /^beta.*breaker open.*last error: rate limited/])
    t.equal(await page.locator('#exchanges select').count(), 0)
    t.notOk(await page.isVisible('#hint'))
    t.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390)
  })

  await t.test('an exchange that does not answer when its fault is switched is named', async (t) => {
    const { page } = await show(t, { url: 'http://127.0.0.1:9' })
    await page.getByRole('combobox', { name: 'Fault of alpha' }).selectOption('down')
    await seen(async () => (await page.locator('.outcome').first().textContent()) === 'alpha does not answer.')
    t.ok(await page.isVisible('#hint'))
  })

  t.match((await app.inject('/prices')).headers['content-security-policy'], "connect-src 'self' http://127.0.0.1:* http://localhost:*;")
})
