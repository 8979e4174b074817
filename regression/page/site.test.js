/**
 * The documentation as a site: every page, beside it its Markdown; VitePress fails on a link that leads nowhere. In a browser every page
 * fits wide and narrow windows, and the search finds what pages say.
 */
import { access, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { extname, join } from 'node:path'
import t from 'tap'
import { buildSite } from '../../build/site/index.js'
import { needsBrowser, openPage, startBrowser } from '../../test/browser.js'
import { isNight, nightTest } from '../../test/scope.js'
import { eventually } from '../../test/servers.js'

const TYPES = /** @type {Record<string, string>} */ ({
  '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.png': 'image/png'
})
t.setTimeout(900_000)

const folder = await mkdtemp(join(tmpdir(), 'freshet-site-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const out = isNight ? await buildSite({ folder }) : ''

async function pagesOfSite () {
  const list = await readFile(join(out, 'llms.txt'), 'utf8')
  return [...list.matchAll(/\]\(\/([^)]+)\.md\)/g)].map(([, page]) => page)
}

/** The site over HTTP, a page also without its ending. @param {import('tap').Test} t @returns {Promise<string>} its URL */
async function serve (t) {
  const server = createServer(async ({ url }, response) => {
    const path = join(out, decodeURIComponent(new URL(String(url), 'http://site').pathname))
    for (const file of [path, `${path}.html`, join(path, 'index.html')]) {
      const content = await readFile(file).catch(() => null)
      if (content) return response.setHeader('content-type', TYPES[extname(file)] ?? 'text/plain').end(content)
    }
    // browsers ask for an icon by themselves
    response.writeHead(url === '/favicon.ico' ? 204 : 404).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${/** @type {import('node:net').AddressInfo} */ (server.address()).port}`
}

nightTest('all pages are there, also as Markdown, and llms.txt lists them', async (t) => {
  const pages = await pagesOfSite()
  t.ok(pages.length > 40)
  for (const page of pages) await Promise.all(['md', 'html'].map((ending) => access(join(out, `${page}.${ending}`))))
  t.match(await readFile(join(out, 'docs', 'pushing.html'), 'utf8'), /href="\/docs\/library/, 'the menu')
  const files = await readdir(join(out, 'assets'), { recursive: true })
  const index = files.find((name) => /localSearchIndex/.test(name))
  t.match(index && await readFile(join(out, 'assets', index), 'utf8'), /docs\/pushing/, 'the index of the search')
})

nightTest('every page fits windows of 1280 and 390 without horizontal scrolling', needsBrowser, async (t) => {
  const [url, browser] = [await serve(t), await startBrowser(t)]
  for (const width of [1280, 390]) {
    const { page, faults } = await openPage(t, browser, { viewport: { width, height: 844 } })
    for (const name of await pagesOfSite()) {
      await page.goto(`${url}/${name.replace(/(^|\/)index$/, '$1')}`, { waitUntil: 'load' })
      const wide = await page.evaluate(() => document.documentElement.scrollWidth)
      t.ok(wide <= width, `${name}: ${wide} of ${width} px`)
    }
    t.same(faults, [])
  }
})

nightTest('the search finds a page by a word of its text', needsBrowser, async (t) => {
  const { page } = await openPage(t, await startBrowser(t), { viewport: { width: 1280, height: 844 } })
  await page.goto(`${await serve(t)}/docs/`, { waitUntil: 'networkidle' })
  await page.locator('#local-search button').click()
  await page.locator('#localsearch-input').fill('EventSource')
  await eventually(async () => {
    const found = await page.locator('#localsearch-list a').evaluateAll((links) => links.map((link) => link.getAttribute('href')))
    return found.some((href) => /\/docs\/pushing/.test(String(href)))
  })
})
