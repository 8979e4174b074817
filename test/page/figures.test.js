/** The page in a real browser: figures, the choice of feed, the content policy. */
import { needsBrowser } from '../browser.js'
import { wholeTest } from '../scope.js'
import { eventually, startDeployment, testEngines } from '../servers.js'
import { CALM, seen, startWatching, withoutRefusals } from './watching.js'

/** no item expires during the test */
const LONG = { windowMs: 600_000 }

wholeTest('the page', needsBrowser, async (t) => {
  const [engine] = await testEngines()
  const { reader, open, show, primary, replicas } = await startWatching(t, await startDeployment(t, { engine, replicas: 1 }))

  await t.test('without a feed it explains how to create one, and shows the first one', async (t) => {
    const { page, shows, serverShows, faults } = await show(t, '/')
    const all = await show(t, '/?all')
    for (const each of [page, all.page]) await each.getByRole('heading', { name: 'No feeds yet' }).waitFor()
    await serverShows(primary, /up/)
    t.equal(await page.getByRole('table', { name: 'Newest items' }).count(), 0)
    const { put } = await open('few', LONG)
    await put(['b-10', 'ten'], ['b-9', 'nine'])
    await shows('count', /^2$/)
    t.equal(await page.getByRole('heading', { name: 'No feeds yet' }).count(), 0)
    t.match(page.url(), /\?feed=few$/)
    await seen(async () => /^few,ids,[\d.]+,2,\d.* ago$/.test((await all.feeds()).join()))
    t.same([...withoutRefusals(faults), ...withoutRefusals(all.faults)], [])
  })

  await t.test('figures are updated', async (t) => {
    const { page, text, shows, rows, serverShows, faults, origins } = await show(t, '/?feed=moving')
    await shows('notice', /There is no feed moving/)
    const { put, keepPutting } = await open('moving', LONG)
    await put(['a', '1'])
    await shows('count', /^1$/)
    t.equal(await text('layout'), 'ids')
    t.equal(await text('kept'), '10 min')
    await shows('engine', /^(valkey|redis) \d/)
    keepPutting(Array.from({ length: 40 }, (_, n) => `id-${n}`), 500)
    await shows('count', /^41$/)
    await shows('rate', /^[1-9]/)
    await shows('writers', /^from 1 writer$/)
    await shows('newest-age', /^\d/)
    await shows('lag', /^\d/)
    await shows('summary', /^Last minute: .* items\/s/)
    await shows('state', /^live$/)
    t.equal(await text('notice'), '')
    for (const server of [primary, ...replicas]) await serverShows(server, /up\s[^]*\d %/)

    const before = await seen(async () => {
      const shown = await rows()
      return shown.length === 25 && shown
    })
    t.ok(before.every(([id, age, value]) => /^(id-\d+|a)$/.test(id) && /^\d/.test(age) && value !== ''), before.join())
    await seen(async () => (await rows())[0].join() !== before[0].join())
    const { highest, height } = await page.locator('#chart canvas').evaluate((canvas) => {
      const { width, height } = /** @type {any} */ (canvas)
      const { data } = /** @type {any} */ (canvas).getContext('2d').getImageData(0, 0, width, height)
      // rows with a pixel of the curve: of a colour of its own, and opaque
      const curve = Array.from({ length: height }, (_, y) => y).find((y) => Array.from({ length: width }, (_, x) => 4 * (y * width + x))
        .some((at) => data[at] < 60 && data[at + 1] > 80 && data[at + 2] > 80 && data[at + 3] > 200))
      return { highest: curve ?? NaN, height }
    })
    t.ok(highest > 0.1 * height && highest < height, `the curve has room above it: it begins at ${highest} of ${height} px`)
    await page.getByText('By minute').click()
    await page.getByRole('region', { name: 'By minute' }).getByRole('row').nth(1).waitFor()
    t.same(withoutRefusals(faults), [])
    t.same(origins, [reader.url])
  })

  await t.test('of an idle feed it shows the last write, or the newest item if the last write is not known', async (t) => {
    const { put } = await open('idle', LONG)
    const { page, text, shows, faults } = await show(t, '/?feed=idle')
    await seen(async () => {
      await put(['a', '1'])
      return (await text('rate')).match(/[1-9]/) !== null
    })
    await shows('writers', /^last write \d+ s ago$/)
    t.equal(await text('rate'), '0')
    t.equal(await text('count'), '1')
    await page.route(/\/figures(\?|$)/, async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...await response.json(), history: [] } })
    })
    await page.reload()
    await shows('writers', /^newest item \d+ s old$/)
    t.same(withoutRefusals(faults), [])
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  await t.test('the feed can be chosen and is kept in the URL; a small feed is sorted by id', async (t) => {
    const { page, shows, rows, faults } = await show(t, '/?feed=moving', CALM)
    await shows('count', /^41$/)
    await page.getByRole('searchbox').fill('id-1')
    await page.getByRole('searchbox').press('Enter')
    await shows('found-id', /^id-1$/)
    await page.getByRole('combobox', { name: 'Feed' }).selectOption('few')
    await shows('count', /^2$/)
    t.equal(await page.getByRole('searchbox').inputValue(), '', 'the search belonged to the other feed')
    t.equal(await page.locator('#found').isVisible(), false)
    await seen(async () => (await rows()).length === 2)
    t.same((await rows()).map(([id, , value]) => [id, value]), [['b-9', 'nine'], ['b-10', 'ten']])
    t.match(page.url(), /\?feed=few$/)
    await page.reload()
    await shows('count', /^2$/)
    t.equal(await page.getByRole('combobox', { name: 'Feed' }).inputValue(), 'few')
    t.same(withoutRefusals(faults), [])
  })

  await t.test('data of a feed is only ever text; the content policy is in force', async (t) => {
    const { put } = await open('odd', LONG)
    const nasty = '<img src=x onerror=alert(1)>'
    await put([nasty, `</td><script>alert(2)</script>${nasty}`], ['bytes', '\xff\xfe'], ['empty', ''])
    const { page, rows, faults } = await show(t, `/?feed=odd&id=${encodeURIComponent(nasty)}`)
    await seen(async () => (await rows()).some(([id, , value]) => id === nasty && value.startsWith('</td><script>')))
    await page.getByRole('heading', { name: nasty }).waitFor()
    t.equal(await page.locator('main img, main script').count(), 0)
    t.same(withoutRefusals(faults), [])
    await page.evaluate(() => document.head.append(Object.assign(document.createElement('style'), { textContent: 'body { color: red }' })))
    await eventually(() => faults.some((fault) => /Content Security Policy/.test(fault)))
  })

  await t.test('unknown figures are shown as unknown', async (t) => {
    const { page, text, shows, rows, faults } = await show(t, '/?feed=few')
    await shows('count', /^2$/)
    await page.route(/\/figures(\?|$)/, async (route) => {
      const response = await route.fetch()
      const known = await response.json()
      await route.fulfill({ response, json: Object.fromEntries(Object.keys(known).map((name) => [name, null])) })
    })
    await page.reload()
    await seen(async () => (await rows()).length === 2)
    await shows('writers', /^unknown$/)
    for (const name of ['rate', 'count', 'newest-age', 'layout', 'kept', 'engine']) t.equal(await text(name), '–', name)
    t.same(withoutRefusals(faults), [])
    // a request may be under way when the page closes
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  })

  await t.test('an overview shows all feeds; each can be opened by mouse and by keyboard', async (t) => {
    const long = 'a-long-name.'.repeat(5) + 'abcd'
    const names = [...Array.from({ length: 15 }, (_, n) => `feed-${n + 1}`), long]
    await Promise.all(names.map(async (name, n) => {
      const { put, close } = await open(name, { ...LONG, layout: ['ids', 'values', 'stream', 'segments'][n % 4] })
      await put(['a', '1'], ['b', '2'])
      await close({ drainMs: 0 })
    }))
    const { page, feeds, shows, text, serverShows, faults } = await show(t, '/', { viewport: { width: 360, height: 800 } })
    await seen(async () => {
      const shown = await feeds()
      return shown.length === 20 && shown.every(([, , , live, newest]) => /^\d+$/.test(live) && / ago$/.test(newest))
    })
    const shown = await feeds()
    t.same(shown.map(([name]) => name), [long, ...names.slice(0, 15), 'few', 'idle', 'moving', 'odd'], 'in the order of their names')
    t.same(shown.slice(1, 5).map(([, layout, , live]) => `${layout} ${live}`), ['ids 2', 'values 2', 'stream 2', 'segments 2'])
    t.match(shown.find(([name]) => name === 'moving')?.[2], /^[1-9]/)
    t.equal(await text('overview-how'), '20 feeds')
    await serverShows(primary, /up/)
    t.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), 'no horizontal scrolling')

    await page.getByRole('table', { name: 'Feeds' }).getByRole('link', { name: 'feed-7', exact: true }).focus()
    await page.keyboard.press('Enter')
    await shows('count', /^2$/)
    t.match(page.url(), /\?feed=feed-7$/)
    await page.getByRole('link', { name: 'All feeds (20)' }).click()
    await page.getByRole('link', { name: 'moving' }).click()
    await shows('rate', /^[1-9]/)
    await page.goBack()
    await seen(async () => (await feeds()).length === 20)
    t.match(page.url(), /\?all$/)
    await page.goto(page.url().replace('?all', '?feed=nofeed'))
    await shows('all', /^All feeds \(20\)$/)
    t.same(withoutRefusals(faults), [])
  })

  await t.test('it shows how far back a feed reaches if max-items ends before the window', async (t) => {
    const { keepPutting } = await open('short', { ...LONG, maxItems: 5 })
    keepPutting(Array.from({ length: 20 }, (_, n) => `id-${n}`), 200)
    const { shows, faults } = await show(t, '/?feed=short')
    await shows('kept', /^keeps (\d+ ms|[\d.]+ s) of 10 min$/)
    const { keepPutting: keepAll } = await open('unlimited', { windowMs: 0, maxItems: 5 })
    keepAll(Array.from({ length: 20 }, (_, n) => `id-${n}`), 200)
    const all = await show(t, '/?feed=unlimited')
    await all.shows('kept', /^keeps (\d+ ms|[\d.]+ s)$/)
    t.same(withoutRefusals(faults), [])
  })

  await t.test('it fits narrow and wide windows, dark and light, and respects reduced motion', async (t) => {
    const grounds = new Set()
    for (const [width, colorScheme] of /** @type {const} */ ([[360, 'light'], [1600, 'dark']])) {
      const { page, shows, faults } = await show(t, '/?feed=moving',
        { viewport: { width, height: 800 }, colorScheme, reducedMotion: 'reduce' })
      await shows('rate', /^\d/)
      await page.locator('#rows tr').first().waitFor()
      t.ok(await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth), `${width} px: no horizontal scrolling`)
      t.ok(await page.evaluate(() => ['items', 'nodes'].every((id) =>
        document.getElementById(id).offsetWidth === document.querySelector('main').offsetWidth)), 'the list and the servers fill the width')
      grounds.add(await page.evaluate(() => window.getComputedStyle(document.body).backgroundColor))
      t.equal(await page.evaluate(() => document.getAnimations().length), 0)
      t.same(withoutRefusals(faults), [])
    }
    t.equal(grounds.size, 2)
  })

  await t.test('the charts mark when a server was unreachable', async (t) => {
    const [replica] = replicas
    const { page, shows, serverShows, faults } = await show(t, '/?feed=moving', CALM)
    await serverShows(replica, /up\s[^]*\d %/)
    await replica.kill()
    await serverShows(replica, /stopped/)
    const outage = `replica 127.0.0.1:${replica.port}`
    await shows('outages', new RegExp(`${outage} has been unreachable since \\d\\d:\\d\\d:\\d\\d\\.`))
    const red = await page.locator('#chart canvas').evaluate((canvas) => {
      const { width, height } = /** @type {any} */ (canvas)
      const { data } = /** @type {any} */ (canvas).getContext('2d').getImageData(0, 0, width, height)
      return Array.from({ length: width * height }, (_, i) => 4 * i)
        .filter((at) => data[at] > 150 && data[at + 1] < 80 && data[at + 3] > 200).length
    })
    t.ok(red > 100, `a line in the chart of the rate: ${red} pixels`)
    const mark = page.getByRole('listitem').filter({ hasText: outage }).locator('path.outage')
    t.match(await mark.getAttribute('d'), /^M[\d.]+ 0H/)
    await replica.restart()
    await shows('outages', new RegExp(`${outage} was unreachable from .* to `))
    await page.reload()
    await shows('outages', new RegExp(`${outage} was unreachable from .* to `))
    t.same(withoutRefusals(faults), [])
  })
})
