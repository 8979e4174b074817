/** A reader of a deployment, writers, and the page in a real browser. Everything ends with the test. */
import { startBrowser, openPage } from '../browser.js'
import { eventually, openWriterFor } from '../servers.js'
import { startReader } from '../services.js'

/** A look at a page takes two processes several milliseconds. */
const LOOK_EVERY_MS = 100
/** Options of a page without animations, which would be drawn all the time. @type {{ reducedMotion: 'reduce' }} */
export const CALM = { reducedMotion: 'reduce' }
const bytes = (/** @type {string} */ text) => Buffer.from(text)

/** As `eventually`, for what a page shows or asks. @template T @param {() => T | Promise<T>} look */
export const seen = (look) => eventually(look, { everyMs: LOOK_EVERY_MS })

/**
 * @template {{ primary: { url: string }, replicas: object[], keyPrefix?: string }} Deployment
 * @param {import('tap').Test} t
 * @param {Deployment} deployment
 * @param {{ flags?: string[], browser?: import('playwright-core').Browser }} [options] `flags` of the reader; another `browser` than
 *   one of its own
 */
export async function startWatching (t, deployment, { flags = [], browser: given } = {}) {
  const { primary: { url: redisUrl }, keyPrefix = 'fr:' } = deployment
  const browser = given ?? await startBrowser(t)
  const reader = await startReader(t, { redisUrl, keyPrefix, flags })

  /** @param {string} feed @param {Partial<Parameters<typeof openWriterFor>[1]>} [options] */
  async function open (feed, options = {}) {
    const { pipeline, close } = await openWriterFor(t, { redisUrl, keyPrefix, feed, ...options })
    /** @param {...[id: string, value: string]} items */
    const put = async (...items) => {
      for (const [id, value] of items) pipeline.append(bytes(id), Date.now(), bytes(value))
      await pipeline.flush()
    }
    return {
      put,
      close,
      /** @param {string} id */
      async remove (id) {
        pipeline.remove(bytes(id), Date.now())
        await pipeline.flush()
      },
      /** Writes until the test ends. @param {string[]} ids @param {number} [everyMs] */
      keepPutting (ids, everyMs = 300) {
        let n = 0
        const timer = setInterval(() => {
          n++
          for (const id of ids) pipeline.append(bytes(id), Date.now(), bytes(`{"n":${n}}`))
        }, everyMs)
        t.teardown(() => clearInterval(timer))
      }
    }
  }

  /**
   * A page that closes with the test: one that stays open is drawn each second.
   * @param {import('tap').Test} t @param {string} path @param {import('playwright-core').BrowserContextOptions} [options]
   */
  async function show (t, path, options) {
    const opened = await openPage(t, browser, options)
    await opened.page.goto(reader.url + path)
    return { ...opened, ...look(opened.page) }
  }

  return { ...deployment, redisUrl, reader, open, show }
}

/** Reads the page by the ids of its elements. @param {import('playwright-core').Page} page */
function look (page) {
  /** @param {string} id */
  const text = async (id) => (await page.locator(`#${id}`).textContent() ?? '').trim()
  /** @param {string} body @returns {Promise<string[][]>} */
  const cellsOf = (body) => page.locator(`${body} tr`).evaluateAll((rows) =>
    rows.map((row) => Array.from(/** @type {any} */ (row).cells).map((cell) => cell.textContent)))
  return {
    text,
    /** Resolves when an element matches. @param {string} id @param {RegExp} pattern */
    shows: (id, pattern) => seen(async () => {
      const shown = await text(id)
      if (!pattern.test(shown)) {
        throw new Error(`#${id} shows "${shown}", not ${pattern}; the page: ${(await page.locator('body').innerText()).slice(0, 1500)}`)
      }
    }),
    /** Cells of the list. @returns {Promise<string[][]>} id, age, value */
    rows: () => cellsOf('#rows'),
    /** Cells of the overview. @returns {Promise<string[][]>} feed, layout, items/s, live ids, newest item */
    feeds: () => cellsOf('#feeds'),
    /** Resolves when the card of a server matches. @param {{ port: number }} server @param {RegExp} pattern */
    serverShows: ({ port }, pattern) => seen(async () => {
      const shown = await page.getByRole('listitem').filter({ hasText: `127.0.0.1:${port}` }).innerText()
      if (!pattern.test(shown)) throw new Error(`the card of ${port} shows "${shown}", not ${pattern}`)
    })
  }
}

/** What a page complained about that is not the refusal of a request, which browsers note as they like. @param {string[]} faults */
export const withoutRefusals = (faults) => faults.filter((fault) => !fault.startsWith('Failed to load resource'))
