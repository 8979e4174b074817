/** The page where streams need a token, or are at their limit: it polls, and accepts a token. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { needsBrowser } from '../../test/browser.js'
import { eventually } from '../../test/servers.js'
import { startWatching, withoutRefusals } from '../../test/page/watching.js'

const TOKEN = 'a-token-of-the-test'

t.test('the page polls until it has a token', needsBrowser, async (t) => {
  const file = join(t.testdir(), 'tokens')
  await writeFile(file, `${TOKEN}\n`)
  const { open, show } = await startWatching(t, { replicas: 1, flags: ['--live-tokens', file] })
  const { keepPutting } = await open('latest')
  keepPutting(['a', 'b', 'c'], 100)
  const { page, shows, rows, faults } = await show('/?feed=latest&id=a')
  const field = page.getByRole('textbox', { name: 'Token' })
  const type = async (/** @type {string} */ text) => {
    await field.fill(text)
    await page.getByRole('button', { name: 'Apply' }).click()
  }

  await field.waitFor()
  await shows('token-why', /require a token/)
  await shows('found-state', /^live$/)
  const before = await rows()
  await eventually(async () => (await rows()).join() !== before.join())
  await shows('items-how', /^updated twice a second/)

  await type('two words')
  await shows('token-why', /without spaces/)
  await type('another')
  await shows('token-why', /rejected this token/)
  await type(TOKEN)
  await shows('items-how', /updated live$/)
  await eventually(async () => !await field.isVisible())
  t.equal(await page.evaluate(() => `${Object.values(sessionStorage)} ${Object.values(localStorage)} ${document.cookie}`), `${TOKEN}  `,
    'the token stays in this tab')
  t.notMatch(page.url(), TOKEN)
  await page.reload()
  await shows('items-how', /updated live$/)
  t.equal(await field.isVisible(), false)
  t.same(withoutRefusals(faults), [])
})

t.test('the page polls when the reader has no free stream', needsBrowser, async (t) => {
  const { open, show } = await startWatching(t, { replicas: 1, flags: ['--max-streams', '0'] })
  const { keepPutting } = await open('latest')
  keepPutting(['a', 'b', 'c'], 100)
  const { shows, rows, faults } = await show('/?feed=latest&id=b')
  await shows('items-how', /updated twice a second: the reader is at its limit of streams/)
  await shows('found-state', /^live$/)
  const before = await rows()
  await eventually(async () => (await rows()).join() !== before.join())
  t.same(withoutRefusals(faults), [])
})
