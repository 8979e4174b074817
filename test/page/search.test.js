/** Lookup of an item by mouse and by keyboard, and the accessibility tree. */
import { needsBrowser } from '../browser.js'
import { sharedDeployment } from '../shared.js'
import { seen, startWatching, withoutRefusals } from './watching.js'
import { wholeTest } from '../scope.js'

wholeTest('lookup of an item', needsBrowser, async (t) => {
  const { open, show } = await startWatching(t, await sharedDeployment(t))
  const { put, remove } = await open('buses', { windowMs: 600_000 })
  await put(['bus-7', '{"stop":1}'], ['bus-9', '{"stop":2}'])

  await t.test('a live item is shown whole and followed; another appears when it is written', async (t) => {
    const { page, shows, faults } = await show(t, '/?feed=buses')
    await shows('count', /^2$/)
    await page.getByRole('searchbox', { name: 'Item id' }).fill('bus-7')
    await page.getByRole('button', { name: 'Find' }).click()
    await shows('found-state', /^live$/)
    await shows('found-value', /^{"stop":1}$/)
    t.equal(await page.getByRole('status').filter({ hasText: '“bus-7” is live; this page follows it.' }).count(), 1)
    t.match(page.url(), /feed=buses&id=bus-7$/)
    await put(['bus-7', '{"stop":5}'])
    await shows('found-value', /^{"stop":5}$/)
    await shows('found-changes', /^2$/)
    await remove('bus-7')
    await shows('found-state', /^deleted$/)
    await shows('search-state', /was deleted/)
    await put(['bus-7', '{"stop":6}'])
    await shows('found-state', /^live$/)

    await page.getByRole('searchbox').fill('bus/8 & co')
    await page.getByRole('searchbox').press('Enter')
    await shows('search-state', /^“bus\/8 & co” is not live: no item with this id was written in the last 10 min/)
    await put(['bus/8 & co', '{"stop":8}'])
    await shows('found-value', /^{"stop":8}$/)
    await page.reload()
    await shows('found-value', /^{"stop":8}$/)

    await page.getByRole('searchbox').fill('ü'.repeat(65))
    await page.getByRole('searchbox').press('Enter')
    await shows('search-state', /128/)
    t.equal(await page.locator('#found').isVisible(), false)
    t.same(withoutRefusals(faults), [])
  })

  await t.test('everything is reachable by keyboard, in visual order', async (t) => {
    const { page, shows, rows } = await show(t, '/?feed=buses')
    await seen(async () => (await rows()).length >= 2)
    await shows('summary', /./)
    const path = []
    for (let n = 0; n < 18; n++) {
      await page.keyboard.press('Tab')
      const { name, outline } = await page.evaluate(() => {
        const { id, textContent, tagName } = /** @type {any} */ (document.activeElement)
        const { outlineStyle, outlineWidth } = window.getComputedStyle(/** @type {any} */ (document.activeElement))
        return {
          name: tagName === 'BODY' ? tagName : id || textContent.trim(), outline: outlineStyle === 'none' ? 0 : parseFloat(outlineWidth)
        }
      })
      if (name === 'BODY') break
      t.ok(outline >= 2, `${name}: the focus is visible`)
      path.push(name)
    }
    t.same(path, ['feed', 'By minute', 'wanted', 'Find', 'pause', 'bus-7', 'bus-9', 'bus/8 & co', 'Auctions', 'Orders', 'Prices', 'Sales',
      'API', 'example', 'Feeds as JSON', 'raw', 'Readiness', 'Metrics'])

    await page.getByRole('button', { name: 'bus-9' }).focus()
    await page.keyboard.press('Enter')
    await shows('found-id', /^bus-9$/)
    await shows('found-state', /^live$/)
    t.equal(await page.evaluate(() => document.activeElement?.id), 'found-id', 'the focus moves to the item')
    await page.keyboard.press('Escape')
    t.equal(await page.locator('#found').isVisible(), false)
    t.equal(await page.evaluate(() => document.activeElement?.id), 'wanted')
    await page.getByRole('button', { name: 'Pause' }).focus()
    await page.keyboard.press('Space')
    await shows('items-how', /^paused$/)
    await put(['bus-1', 'new'])
    await shows('count', /^4$/)
    t.equal((await rows()).length, 3, 'the list does not change')
    await page.keyboard.press('Space')
    await seen(async () => (await rows()).length === 4)
  })

  await t.test('all parts have names and roles', async (t) => {
    const { page, rows } = await show(t, '/?feed=buses&id=bus-9')
    await seen(async () => (await rows()).length >= 2)
    await page.getByRole('article', { name: 'bus-9' }).waitFor()
    const tree = await page.locator('body').ariaSnapshot()
    for (const part of ['heading "Freshet" [level=1]', 'combobox "Feed"', 'main', 'region "Items per second"',
      'heading "Items per second" [level=2]', 'search', 'searchbox "Item id"',
      'article "bus-9"', 'region "Value"', 'region "Newest items"', 'button "Pause"', 'table "Newest items"', 'columnheader "Id"',
      'region "Servers"', 'list "Servers"', 'paragraph: primary 127.0.0.1', 'contentinfo', 'link "API"']) {
      t.ok(tree.includes(part), `${part} in ${tree}`)
    }
    t.notMatch(tree, /canvas/i, 'the chart is available as a sentence and a table')
    t.equal(await page.locator('[aria-live], [role=status], [role=alert]').count(), 5,
      'live regions: the notice, the lookup, tokens, servers, processes that start again')
  })
})
