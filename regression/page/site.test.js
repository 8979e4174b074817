/** The documentation as a site: every page, beside it its Markdown; VitePress fails on a link that leads nowhere. */
import { access, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { buildSite } from '../../build/site/index.js'
import { nightTest } from '../../test/scope.js'

t.setTimeout(900_000)

nightTest('all pages are there, also as Markdown, and llms.txt lists them', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-site-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const out = await buildSite({ folder })
  const list = await readFile(join(out, 'llms.txt'), 'utf8')
  const pages = [...list.matchAll(/\]\(\/([^)]+)\.md\)/g)].map(([, page]) => page)
  t.ok(pages.length > 40)
  for (const page of pages) await Promise.all(['md', 'html'].map((ending) => access(join(out, `${page}.${ending}`))))
  t.match(await readFile(join(out, 'docs', 'pushing.html'), 'utf8'), /href="\/docs\/library/, 'the menu')
})
