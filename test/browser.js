/**
 * A real Chromium for tests of what people see, driven by playwright-core. It is the one of this machine, without a
 * window, and is gone when the test that started it ends.
 *
 * Where there is none, tests that need it are skipped and say so; FRESHET_TEST_BROWSER=chromium makes that a failure.
 */
import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { chromium } from 'playwright-core'

const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome']
const ABSENT = 'no Chromium on PATH: install it, on Debian with "apt-get install chromium"'
/** what a busy machine may need; only a failure takes as long */
const DEADLINE_MS = 60_000

/**
 * For the options of a test that needs a browser: `t.test(title, needsBrowser, ...)`.
 * @type {{ skip: string | false }}
 */
export const needsBrowser = { skip: await findProgram() === null && ABSENT }

/** @returns {Promise<string | null>} its path */
async function findProgram () {
  const { PATH = '', FRESHET_TEST_BROWSER: asked = '' } = process.env
  for (const name of PROGRAMS) {
    for (const folder of PATH.split(delimiter).filter(Boolean)) {
      const program = join(folder, name)
      if (await access(program, constants.X_OK).then(() => true, () => false)) return program
    }
  }
  if (asked !== '') throw new Error(`FRESHET_TEST_BROWSER asks for ${asked}; ${ABSENT}`)
  return null
}

/**
 * @param {import('tap').Test} t
 * @returns {Promise<import('playwright-core').Browser>} ends with the test
 */
export async function startBrowser (t) {
  const program = await findProgram()
  if (program === null) throw new Error(ABSENT)
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'], timeout: DEADLINE_MS })
  t.teardown(() => browser.close())
  return browser
}

/**
 * A page of its own, with nothing stored; it closes with the test.
 * @param {import('tap').Test} t
 * @param {import('playwright-core').Browser} browser
 * @param {import('playwright-core').BrowserContextOptions} [options] such as `viewport`, `colorScheme`
 */
export async function openPage (t, browser, options) {
  const context = await browser.newContext(options)
  t.teardown(() => context.close())
  context.setDefaultTimeout(DEADLINE_MS)
  const page = await context.newPage()
  /** @type {string[]} what the console complained about, content policy included, and what a script threw */
  const faults = []
  /** @type {string[]} origins that were asked */
  const origins = []
  page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) faults.push(message.text()) })
  page.on('pageerror', (error) => { faults.push(String(error.stack)) })
  page.on('request', (request) => {
    const { origin } = new URL(request.url())
    if (!origins.includes(origin)) origins.push(origin)
  })
  return { page, faults, origins }
}
