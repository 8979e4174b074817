/**
 * Bearer tokens of a file, one a line, read again within a second when it changes: so a token can be given and revoked while
 * the process runs. Empty lines and those that begin with # say nothing.
 *
 * Only digests are kept. A file that cannot be read, or has a line that is no token, is said in the log and changes nothing:
 * what was read before holds.
 */
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { FreshetError } from '../errors.js'
import { HttpError } from './problem.js'

const LOOK_MS = 500
const TOKEN = /^\S{8,}$/

/** @typedef {Awaited<ReturnType<typeof openTokens>>} Tokens */

/** @param {string} text */
const digest = (text) => createHash('sha256').update(text).digest('base64url')

/** @param {string} text @param {string} file @returns {Set<string>} digests @throws {FreshetError} TOKENS_INVALID */
function digestsIn (text, file) {
  const lines = text.split('\n').map((line) => line.trim())
  const wrong = lines.flatMap((line, i) => line === '' || line.startsWith('#') || TOKEN.test(line) ? [] : [i + 1])
  if (wrong.length > 0) throw new FreshetError('TOKENS_INVALID', `${file}, line ${wrong.join(', ')}: no token; expected 8 characters or more without spaces, one token a line`)
  return new Set(lines.filter((line) => TOKEN.test(line) && !line.startsWith('#')).map(digest))
}

/**
 * @param {string} file
 * @param {{ log: import('pino').Logger }} options
 * @throws {FreshetError} TOKENS_INVALID
 */
export async function openTokens (file, { log }) {
  /** @type {(isKnown: (token: string) => boolean) => void} */
  let onChange = () => {}
  let lastFault = ''
  /** What tells one state of the file from another: a link that points elsewhere, too. */
  const stateOf = async () => {
    const { mtimeMs, ctimeMs, size, ino } = await stat(file)
    return `${mtimeMs} ${ctimeMs} ${size} ${ino}`
  }
  const read = async () => {
    try {
      return digestsIn(await readFile(file, 'utf8'), file)
    } catch (error) {
      if (error instanceof FreshetError) throw error
      throw new FreshetError('TOKENS_INVALID', `${file} cannot be read (${error.code}); expected a file with a bearer token a line`)
    }
  }
  let state = await stateOf().catch(() => '')
  let known = await read()
  let isLooking = false
  let wasEmpty = false

  async function look () {
    if (isLooking) return
    isLooking = true
    try {
      const found = await stateOf()
      if (found === state) return
      const tokens = await read()
      // it is being written: the next look finds it whole
      if (await stateOf() !== found) return
      const isEmptied = tokens.size === 0 && !wasEmpty
      wasEmpty = tokens.size === 0
      if (isEmptied) return
      state = found
      known = tokens
      lastFault = ''
      log.info({ tokens: known.size }, 'tokens were read again')
      onChange((token) => known.has(token))
    } catch (error) {
      if (error.message !== lastFault) log.error({ code: error.code, reason: error.message }, 'tokens could not be read again; those read before hold')
      lastFault = error.message
    } finally {
      isLooking = false
    }
  }
  const timer = setInterval(look, LOOK_MS).unref()

  return {
    /**
     * @param {string | undefined} authorization header
     * @returns {string} its digest: who it is
     * @throws {HttpError} UNAUTHORIZED
     */
    check (authorization) {
      const [, given] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
      const token = given === undefined ? null : digest(given)
      if (token !== null && known.has(token)) return token
      throw new HttpError('UNAUTHORIZED', `${token === null ? 'no bearer token' : 'a bearer token that is not known, or not any more'}; this route needs "Authorization: Bearer <token>" with one of the tokens of this reader (--live-tokens)`)
    },
    /** @param {(isKnown: (token: string) => boolean) => void} listener the file was read again */
    listen (listener) { onChange = listener },

    close () { clearInterval(timer) }
  }
}
