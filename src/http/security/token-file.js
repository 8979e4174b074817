/**
 * The token file: one JSON object per line, so that tokens can be issued, changed and revoked while the process runs.
 *
 *     {"token":"a-long-random-text","scopes":["read"],"feeds":["latest","positions"]}
 *     {"token":"another-random-text","scopes":["read"],"feeds":["latest"],"ids":["bus-*"]}
 *
 * Empty lines and lines that begin with # are ignored.
 */
import { statSync } from 'node:fs'
import { EXPECTED_IDS, readIdFilter } from '../../item/index.js'
import { FreshetError } from '../errors.js'
import { ALL_FEEDS, digestOf, SCOPES } from './grants.js'
import { watchFiles } from './watched-files.js'

const FIELDS = Object.freeze(['token', 'scopes', 'feeds', 'ids'])
const TOKEN = /^[\x21-\x7e]{8,}$/
const FEED = /^(\*|@?[a-z0-9][a-z0-9._-]{0,63}|[a-z0-9][a-z0-9._-]{0,62}\*)$/
const READABLE_BY_OTHERS = 0o004

/** @typedef {Awaited<ReturnType<typeof openTokens>>} Tokens */
/** @typedef {import('./grants.js').Grant} Grant */

/** @param {unknown} list @param {(entry: string) => boolean} isValid */
const isListOf = (list, isValid) =>
  Array.isArray(list) && list.length > 0 && list.every((entry) => typeof entry === 'string' && isValid(entry))

/** @param {string} line @returns {Grant | string} what is wrong with it, without its content: it may be a token */
function grantIn (line) {
  /** @type {any} */
  let row
  try {
    row = JSON.parse(line)
  } catch {
    return 'not JSON'
  }
  if (typeof row !== 'object' || row === null || Array.isArray(row)) return 'not an object'
  const { token, scopes, feeds, ids = null } = row
  if (Object.keys(row).some((name) => !FIELDS.includes(name))) return `a field other than ${FIELDS.join(', ')}`
  if (typeof token !== 'string' || !TOKEN.test(token)) return 'token is not 8 or more ASCII characters without spaces'
  if (!isListOf(scopes, (scope) => SCOPES.includes(scope))) return `scopes is not a list of ${SCOPES.join(', ')}`
  if (!isListOf(feeds, (feed) => FEED.test(feed))) {
    return `feeds is not a list of feed names or beginnings such as "tenant-3.*", or ["${ALL_FEEDS}"] for all`
  }
  const filter = 'ids' in row ? readIdFilter(ids) : null
  if (typeof filter === 'string') return `ids is ${filter}; expected a list of ${EXPECTED_IDS}, or no ids for all`
  return { id: digestOf(token), scopes: new Set(scopes), feeds: new Set(feeds), ids: filter, untilMs: Infinity }
}

/** @param {string} file @param {string} text @returns {Map<Grant['id'], Grant>} by digest @throws {FreshetError} TOKENS_INVALID */
function parse (file, text) {
  /** @type {Map<Grant['id'], Grant>} */
  const grants = new Map()
  /** @type {string[]} */
  const faults = []
  for (const [i, line] of text.split('\n').map((rawLine) => rawLine.trim()).entries()) {
    if (line === '' || line.startsWith('#')) continue
    const grant = grantIn(line)
    if (typeof grant === 'string') faults.push(`line ${i + 1}: ${grant}`)
    else if (grants.has(grant.id)) faults.push(`line ${i + 1}: a token that an earlier line has`)
    else grants.set(grant.id, grant)
  }
  if (faults.length === 0) return grants
  throw new FreshetError('TOKENS_INVALID',
    `${file}, ${faults.slice(0, 5).join('; ')}; expected lines such as {"token":"...","scopes":["read"],"feeds":["${ALL_FEEDS}"]}`)
}

/**
 * @param {string} file
 * @param {{ log: import('pino').Logger, onChange: () => void }} options `onChange`: the file was reloaded
 * @throws {FreshetError} TOKENS_INVALID
 */
export async function openTokens (file, { log, onChange }) {
  /** @type {Map<Grant['id'], Grant>} */
  let grants = new Map()
  const { close } = await watchFiles([file], {
    what: 'token file',
    code: 'TOKENS_INVALID',
    expected: 'a file with one token per line',
    parse: (text) => parse(file, text),
    apply (read) {
      grants = read
      if (statSync(file).mode & READABLE_BY_OTHERS) log.warn({ file }, 'every user of this machine can read the token file; chmod 600 it')
      onChange()
    },
    log
  })
  return {
    /** @param {Grant['id']} digest of a token @returns {Grant | undefined} */
    get: (digest) => grants.get(digest),
    close
  }
}
