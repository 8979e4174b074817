/** Asks a reader over HTTP. What it says of errors is printed, so it is made visible like everything else that comes from outside. */
import { visible } from './text.js'

const DEADLINE_MS = 5000

/** Nobody answers there, or somebody else does. */
export class ReaderAway extends Error {
  exitStatus = 1
  /** @param {string} url @param {string} why */
  constructor (url, why) {
    super(`no reader answers at ${visible(url)} (${visible(why)}): start one with npm start reader, or name another with --url`)
    this.why = why
  }
}

/** A reader answers, but not with what was asked for. */
export class ReaderRefused extends Error {
  exitStatus = 1
  /** @param {string} code @param {string} message */
  constructor (code, message) {
    super(visible(message))
    this.code = code
  }
}

/** @typedef {ReturnType<typeof createReader>} Reader */

/** @param {{ url: string, signal: AbortSignal }} options `signal`: nothing is asked any more */
export function createReader ({ url, signal }) {
  /** @param {string} path @returns {Promise<any>} @throws {ReaderAway | ReaderRefused} */
  async function get (path) {
    const { status, text } = await ask(path)
    /** @type {any} */
    let answer
    try {
      answer = JSON.parse(text)
    } catch {
      throw new ReaderAway(url, `what answers there is no reader, status ${status}`)
    }
    if (status === 200) return answer
    if (typeof answer?.code !== 'string') throw new ReaderAway(url, `what answers there is no reader, status ${status}`)
    throw new ReaderRefused(answer.code, `${answer.code}: ${answer.detail}`)
  }

  /** @param {string} path @returns {Promise<{ status: number, text: string }>} @throws {ReaderAway} */
  async function ask (path) {
    const over = new AbortController()
    const abort = () => over.abort(new Error(`silent for ${DEADLINE_MS / 1000} s`))
    const timer = setTimeout(abort, DEADLINE_MS)
    signal.addEventListener('abort', abort)
    try {
      const response = await fetch(url.replace(/\/+$/, '') + path, { signal: over.signal, headers: { accept: 'application/json' } })
      return { status: response.status, text: await response.text() }
    } catch (error) {
      throw new ReaderAway(url, error.cause?.code ?? error.cause?.message ?? error.message)
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', abort)
    }
  }

  return {
    url,

    /** @returns {Promise<string[]>} names, by the alphabet */
    async feeds () {
      const { feeds } = await get('/v1/feeds')
      return feeds.map((/** @type {{ feed: string }} */ { feed }) => feed).sort()
    },

    /** @param {string} feed @param {number | null} since ms: history behind it; null = all @returns {Promise<import('./screen.js').Figures>} */
    async figures (feed, since) {
      try {
        return await get(`/v1/feeds/${feed}/figures${since === null ? '' : `?since=${since}`}`)
      } catch (error) {
        if (error.code !== 'NOT_FOUND') throw error
        throw new ReaderRefused(error.code, `the reader at ${url} has no figures: it is of an older version than this command`)
      }
    },

    /** @param {string} feed @param {number} limit @returns {Promise<import('./screen.js').Item[]>} newest first */
    async items (feed, limit) {
      const { items } = await get(`/v1/feeds/${feed}/items?limit=${limit}&encoding=utf8`)
      return items.map(decoded)
    },

    /** @param {string} feed @param {string} id @returns {Promise<import('./screen.js').Item>} @throws {ReaderRefused} ITEM_UNKNOWN */
    async item (feed, id) {
      // as a path . and .. would be another one
      const { items: [item] } = await get(`/v1/feeds/${feed}/items?id=${encodeURIComponent(id)}&encoding=utf8`)
      if (item === undefined) throw new ReaderRefused('ITEM_UNKNOWN', 'ITEM_UNKNOWN: no live item has that id')
      return decoded(item)
    }
  }
}

/** @param {any} item asked for as text, which not every value is @returns {import('./screen.js').Item} */
const decoded = ({ id, ts, value, encoding }) => ({ id, ts, value: encoding === 'base64' ? Buffer.from(value, 'base64') : value })
