/**
 * Bearer tokens of a file, one per line, read again within a second when it changes, so that tokens can be issued and
 * revoked while the process runs. Empty lines and lines that begin with # are ignored.
 *
 * Only digests are kept. If the file cannot be read or has an invalid line, that is logged and the tokens read before
 * stay valid.
 */
import { createHash } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { FreshetError } from './errors.js'

const CHECK_MS = 500
const TOKEN = /^\S{8,}$/

/** @typedef {Awaited<ReturnType<typeof openTokens>>} Tokens */

/** @param {string} text */
const digest = (text) => createHash('sha256').update(text).digest('base64url')

/** @param {string} file @returns {Promise<Set<string>>} digests @throws {FreshetError} TOKENS_INVALID */
async function readTokens (file) {
  const text = await readFile(file, 'utf8').catch((error) => {
    throw new FreshetError('TOKENS_INVALID', `${file} cannot be read (${error.code}); expected a file with one bearer token per line`)
  })
  const lines = text.split('\n').map((line) => line.trim())
  const wrong = lines.flatMap((line, i) => line === '' || line.startsWith('#') || TOKEN.test(line) ? [] : [i + 1])
  if (wrong.length > 0) {
    throw new FreshetError('TOKENS_INVALID',
      `${file}, line ${wrong.join(', ')}: no token; expected 8 characters or more without spaces, one token per line`)
  }
  return new Set(lines.filter((line) => TOKEN.test(line) && !line.startsWith('#')).map(digest))
}

/** Differs whenever the file does, or a link points to another file. @param {string} file */
async function versionOf (file) {
  const { mtimeMs, ctimeMs, size, ino } = await stat(file)
  return `${mtimeMs} ${ctimeMs} ${size} ${ino}`
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
  let version = await versionOf(file).catch(() => '')
  let known = await readTokens(file)
  let isChecking = false
  let wasEmpty = false

  async function check () {
    if (isChecking) return
    isChecking = true
    try {
      const found = await versionOf(file)
      if (found === version) return
      const tokens = await readTokens(file)
      // while the file is being written, wait for the next check; programs also empty it before they write
      if (await versionOf(file) !== found) return
      const isEmptied = tokens.size === 0 && !wasEmpty
      wasEmpty = tokens.size === 0
      if (isEmptied) return
      version = found
      known = tokens
      lastFault = ''
      log.info({ tokens: known.size }, 'token file reloaded')
      onChange((token) => known.has(token))
    } catch (error) {
      if (error.message !== lastFault) {
        log.error({ code: error.code, reason: error.message }, 'token file not reloaded; tokens read before stay valid')
      }
      lastFault = error.message
    } finally {
      isChecking = false
    }
  }
  const timer = setInterval(check, CHECK_MS).unref()

  return {
    /**
     * @param {string | undefined} authorization header
     * @returns {string} the digest of its token
     * @throws {FreshetError} UNAUTHORIZED
     */
    check (authorization) {
      const [, given] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
      const token = given === undefined ? null : digest(given)
      if (token !== null && known.has(token)) return token
      const received = token === null ? 'no bearer token' : 'an unknown or revoked bearer token'
      throw new FreshetError('UNAUTHORIZED',
        `${received}; this route needs "Authorization: Bearer <token>" with a token of this reader (--live-tokens)`)
    },
    /** @param {(isKnown: (token: string) => boolean) => void} listener called when the file was reloaded */
    listen (listener) { onChange = listener },

    close () { clearInterval(timer) }
  }
}
