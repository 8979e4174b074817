/** HTTP client of a reader. Its error messages are printed, so they are made visible like all text from outside. */
import { visible } from '../../src/runtime/index.js'

const DEADLINE_MS = 5000

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

  /** @param {string} path @returns {Promise<any>} @throws {ReaderUnreachable | ReaderRefused} */
  async function get (path) {
    const { status, text } = await request(path)
    /** @type {any} */
    let body
    try {
      body = JSON.parse(text)
    } catch {
      throw new ReaderUnreachable(url, `the reply with status ${status} is not from a reader`)
    }
    if (status === 200) return body
    if (typeof body?.code !== 'string') throw new ReaderUnreachable(url, `the reply with status ${status} is not from a reader`)
    if (body.code === 'UNAUTHORIZED') {
      const how = token === null ? 'requires a token: set FRESHET_TOKEN, or --token' : 'does not accept this token (FRESHET_TOKEN, --token)'
      throw new ReaderRefused(body.code, `the reader at ${url} ${how}`)
    }
    throw new ReaderRefused(body.code, `${body.code}: ${body.detail}`)
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
      throw new ReaderUnreachable(url, error.cause?.code ?? error.cause?.message ?? error.message)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
  }

  return {
    url,
    token,

    /** @returns {Promise<string[]>} names, sorted */
    async feeds () {
      const { feeds } = await get('/v1/feeds')
      return feeds.map((/** @type {{ feed: string }} */ { feed }) => feed).sort()
    },

    /**
     * @param {string} feed @param {number | null} since ms: newer history only; null = all
     * @returns {Promise<import('./screen.js').Figures>}
     */
    async figures (feed, since) {
      try {
        return await get(`/v1/feeds/${feed}/figures${since === null ? '' : `?since=${since}`}`)
      } catch (error) {
        if (error.code !== 'NOT_FOUND') throw error
        throw new ReaderRefused(error.code, `the reader at ${url} has no figures; it is older than this command`)
      }
    },

    /** @param {string} feed @param {number} limit @returns {Promise<import('./screen.js').Item[]>} newest first */
    async items (feed, limit) {
      const { items } = await get(`/v1/feeds/${feed}/items?limit=${limit}&encoding=utf8`)
      return items.map(decoded)
    },

    /** @param {string} feed @param {string} id @returns {Promise<import('./screen.js').Item>} @throws {ReaderRefused} ITEM_UNKNOWN */
    async item (feed, id) {
      // in a path, the ids . and .. would change it
      const { items: [item] } = await get(`/v1/feeds/${feed}/items?id=${encodeURIComponent(id)}&encoding=utf8`)
      if (item === undefined) throw new ReaderRefused('ITEM_UNKNOWN', 'ITEM_UNKNOWN: no live item has this id')
      return decoded(item)
    }
  }
}

/** @param {any} item its value is base64 if it is not UTF-8 @returns {import('./screen.js').Item} */
const decoded = ({ id, ts, value, encoding }) => ({ id, ts, value: encoding === 'base64' ? Buffer.from(value, 'base64') : value })
