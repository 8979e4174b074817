/** The page where pushing needs a token, or has no room: it asks instead, and takes a token. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { needsBrowser } from '../browser.js'
import { eventually } from '../servers.js'
import { startWatching, withoutRefusals } from './watching.js'

const TOKEN = 'a-token-of-the-test'

t.test('where pushing needs a token', needsBrowser, async (t) => {
  const file = join(t.testdir(), 'tokens')
  await writeFile(file, `${TOKEN}\n`)
  const { open, show } = await startWatching(t, { replicas: 1, flags: ['--live-tokens', file] })
  const { keepPutting } = await open('latest')
  keepPutting(['a', 'b', 'c'], 100)
  const { page, shows, rows, faults } = await show('/?feed=latest&id=a')
  const field = page.getByRole('textbox', { name: 'Token' })
  const type = async (/** @type {string} */ text) => {
    await field.fill(text)
    await page.getByRole('button', { name: 'Use it' }).click()
  }

  await field.waitFor()
  await shows('token-why', /pushes changes only to holders of a token/)
  await shows('found-state', /^live$/)
  const before = await rows()
  await eventually(async () => (await rows()).join() !== before.join())
  await shows('items-how', /^asked for twice a second/)

  await type('two words')
  await shows('token-why', /without spaces/)
  await type('another')
  await shows('token-why', /does not take that token/)
  await type(TOKEN)
  await shows('items-how', /as they change$/)
  await eventually(async () => !await field.isVisible())
  t.equal(await page.evaluate(() => `${Object.values(sessionStorage)} ${Object.values(localStorage)} ${document.cookie}`), `${TOKEN}  `, 'it stays in this tab')
  t.notMatch(page.url(), TOKEN)
  await page.reload()
  await shows('items-how', /as they change$/)
  t.equal(await field.isVisible(), false)
  t.same(withoutRefusals(faults), [])
})

t.test('where there is no room for more streams it asks', needsBrowser, async (t) => {
  const { open, show } = await startWatching(t, { replicas: 1, flags: ['--max-streams', '0'] })
  const { keepPutting } = await open('latest')
  keepPutting(['a', 'b', 'c'], 100)
  const { shows, rows, faults } = await show('/?feed=latest&id=b')
  await shows('items-how', /asked for twice a second: the reader pushes to as many as it may/)
  await shows('found-state', /^live$/)
  const before = await rows()
  await eventually(async () => (await rows()).join() !== before.join())
  t.same(withoutRefusals(faults), [])
})
