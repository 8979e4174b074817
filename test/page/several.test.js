/** Several feeds in one stream: their newest items are one list, each with the name of its feed. */
import { needsBrowser } from '../browser.js'
import { wholeTest } from '../scope.js'
import { sharedDeployment } from '../shared.js'
import { CALM, seen, startWatching, withoutRefusals } from './watching.js'

wholeTest('two feeds in one list', needsBrowser, async (t) => {
  const { open, show, reader } = await startWatching(t, await sharedDeployment(t))
  const [buses, trams] = await Promise.all(['buses', 'trams'].map((feed) => open(feed, { windowMs: 600_000 })))
  await buses.put(['7', 'bus 1'], ['8', 'bus 2'])
  await trams.put(['7', 'tram 1'])
  const { page, rows, shows, faults } = await show(t, '/?feed=buses&feed=trams', CALM)
  const shown = async () => (await rows()).map(([feed, id, , value]) => `${feed} ${id} ${value}`)

  await t.test('an id of two feeds is two rows, and both change', async (t) => {
    await seen(async () => (await rows()).length === 3)
    t.same((await shown()).sort(), ['buses 7 bus 1', 'buses 8 bus 2', 'trams 7 tram 1'])
    await shows('items-title', /^Newest items of buses, trams$/)
    await trams.put(['7', 'tram 2'])
    await seen(async () => (await shown()).includes('trams 7 tram 2'))
    await buses.remove('8')
    await seen(async () => (await rows()).length === 2)
    t.notOk(await page.locator('#flow').isVisible())
    const streams = async () => /^freshet_streams (\d+)/m.exec((await reader.get('/metrics')).body)?.[1]
    t.equal(await streams(), '1', 'in one stream')
  })

  await t.test('a row leads to its item and its feed, and a feed can be added to another one', async (t) => {
    const links = await page.locator('#rows a').evaluateAll((all) => all.map((one) => one.getAttribute('href')))
    t.ok(links.includes('/?feed=trams&id=7') && links.includes('/?feed=trams'), links.join(' '))
    await page.goto(`${reader.url}/?feed=trams`)
    await page.getByRole('combobox', { name: 'Shown beside it' }).selectOption('buses')
    await page.waitForURL('**/?feed=trams&feed=buses')
    await seen(async () => (await rows()).length === 2)
    await page.getByRole('combobox', { name: 'Shown beside it' }).selectOption('')
    await page.waitForURL('**/?feed=trams')
    await shows('count', /^1$/)
  })

  await t.test('a feed that does not exist yet is waited for', async (t) => {
    await page.goto(`${reader.url}/?feed=trams&feed=later`)
    await seen(async () => (await rows()).length === 1)
    const later = await open('later')
    await later.put(['9', 'late'])
    await seen(async () => (await shown()).includes('later 9 late'))
    t.same(withoutRefusals(faults), [])
  })
})
