/** HTTP client of a reader. Its error messages are printed, so they are made visible like all text from outside. */
import { visible } from '../../src/runtime/index.js'
import { feedsIn, figuresIn, itemsIn, problemIn } from './replies.js'

const DEADLINE_MS = 5000
const CLOSED = 'the connection was closed without a reply: a reader that ends, or a server that speaks no HTTP, as Valkey and Sentinel'
const NO_HTTP = /^HPE_/

/** No reply, or not from a reader. */
export class ReaderUnreachable extends Error {
  exitStatus = 1
  /** @param {string} url @param {string} why */
  constructor (url, why) {
    super(`no reader at ${visible(url)} (${visible(why)}); start one with npm start reader, or set --url`)
    this.why = why
  }
}

/** The reader replied with an error. */
export class ReaderRefused extends Error {
  exitStatus = 1
  /** @param {string} code @param {string} message */
  constructor (code, message) {
    super(visible(message))
    this.code = code
  }
}

/** @typedef {ReturnType<typeof createReader>} Reader */

/** @param {{ url: string, token: string | null, signal: AbortSignal }} options `signal` cancels requests */
export function createReader ({ url, token, signal }) {
  const headers = { accept: 'application/json', ...(token !== null && { authorization: `Bearer ${token}` }) }

  /** @param {string} path @returns {Promise<unknown>} @throws {ReaderUnreachable | ReaderRefused} */
  async function get (path) {
    const { status, text } = await request(path)
    /** @type {unknown} */
    let body
    try {
      body = JSON.parse(text)
    } catch {
      throw new ReaderUnreachable(url, `the reply with status ${status} is not from a reader`)
    }
    if (status === 200) return body
    const problem = problemIn(body)
    if (problem === null) throw new ReaderUnreachable(url, `the reply with status ${status} is not from a reader`)
    if (problem.code === 'UNAUTHORIZED') {
      const how = token === null ? 'requires a token: set FRESHET_TOKEN, or --token' : 'does not accept this token (FRESHET_TOKEN, --token)'
      throw new ReaderRefused(problem.code, `the reader at ${url} ${how}`)
    }
    throw new ReaderRefused(problem.code, `${problem.code}: ${problem.detail}`)
  }

  /** @param {string} path @returns {Promise<{ status: number, text: string }>} @throws {ReaderUnreachable} */
  async function request (path) {
    const over = new AbortController()
    const abort = () => over.abort(new Error(`no reply within ${DEADLINE_MS / 1000} s`))
    const timer = setTimeout(abort, DEADLINE_MS)
    signal.addEventListener('abort', abort)
    try {
      const response = await fetch(url.replace(/\/+$/, '') + path, { signal: over.signal, headers })
      return { status: response.status, text: await response.text() }
    } catch (error) {
      const why = error.cause?.code ?? error.cause?.message ?? error.message
      if (why === 'UND_ERR_SOCKET') throw new ReaderUnreachable(url, CLOSED)
      throw new ReaderUnreachable(url, NO_HTTP.test(why) ? 'what listens there speaks no HTTP' : why)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
  }

  const pathOf = (/** @type {string} */ feed) => `/v1/feeds/${encodeURIComponent(feed)}`

  return {
    url,
    token,

    /** @returns {Promise<string[]>} names, sorted */
    feeds: async () => feedsIn(await get('/v1/feeds')),

    /**
     * @param {string} feed @param {number | null} since ms: newer history only; null = all
     * @returns {Promise<import('./screen.js').Figures>}
     */
    async figures (feed, since) {
      try {
        return figuresIn(await get(`${pathOf(feed)}/figures${since === null ? '' : `?since=${since}`}`), Date.now())
      } catch (error) {
        if (error.code !== 'NOT_FOUND') throw error
        throw new ReaderRefused(error.code, `the reader at ${url} has no figures; it is older than this command`)
      }
    },

    /** @param {string} feed @param {number} limit @returns {Promise<import('./screen.js').Item[]>} newest first */
    items: async (feed, limit) => itemsIn(await get(`${pathOf(feed)}/items?limit=${limit}&encoding=utf8`)),

    /** @param {string} feed @param {string} id @returns {Promise<import('./screen.js').Item>} @throws {ReaderRefused} ITEM_UNKNOWN */
    async item (feed, id) {
      // in a path, the ids . and .. would change it
      const [item] = itemsIn(await get(`${pathOf(feed)}/items?id=${encodeURIComponent(id)}&encoding=utf8`))
      if (item === undefined) throw new ReaderRefused('ITEM_UNKNOWN', 'ITEM_UNKNOWN: no live item has this id')
      return item
    }
  }
}
