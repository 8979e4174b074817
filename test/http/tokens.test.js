/** The token file: its lines, and its permissions. */
import { chmod, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { digestOf, permits } from '../../src/http/security/grants.js'
import { openTokens } from '../../src/http/security/token-file.js'
import { silentLog } from '../servers.js'
import { folderFor } from './guarded.js'

const SECRET = 'open-sesame-open'
const ROW = { token: SECRET, scopes: ['read'], feeds: ['latest'] }

/** @param {import('tap').Test} t @param {string} text @param {number} [mode] */
async function openedFrom (t, text, mode = 0o600) {
  const file = join(await folderFor(t), 'tokens')
  await writeFile(file, text)
  await chmod(file, mode)
  /** @type {string[]} */
  const warnings = []
  const warn = (/** @type {object} */ _facts, /** @type {string} */ words) => warnings.push(words)
  const log = /** @type {any} */ ({ ...silentLog, warn })
  const tokens = await openTokens(file, { log, onChange () {} })
  t.teardown(() => tokens.close())
  return { ...tokens, warnings }
}

t.test('a line gives a token its scopes and feeds; only the digest of the token is kept', async (t) => {
  const { get } = await openedFrom(t, `# of the dashboard\n${JSON.stringify({ ...ROW, scopes: ['read', 'admin'], feeds: ['*'] })}\r\n\n`)
  t.match(get(digestOf(SECRET)), { scopes: new Set(['read', 'admin']), feeds: new Set(['*']) })
  t.equal(get(SECRET), undefined)
  t.notMatch(JSON.stringify(get(digestOf(SECRET))), SECRET)
})

t.test('a beginning of names is for all feeds that begin so, and for no system', (t) => {
  const grant = { id: null, scopes: new Set(['read']), feeds: new Set(['tenant-3.*', '*x', '@*', 'a']), ids: null, untilMs: Infinity }
  for (const [feed, isPermitted] of /** @type {[string, boolean][]} */ ([
    ['tenant-3.buses', true], ['tenant-3.', true], ['tenant-33', false], ['tenant-3', false], ['a', true], ['ab', false], ['bx', false],
    ['@auctions', false], ['*', false]
  ])) t.equal(permits(grant, 'read', feed), isPermitted, feed)
  t.equal(permits(grant, 'write', 'a'), false)
  t.end()
})

t.test('ids are those that the list permits; "*" is every id', async (t) => {
  const { get } = await openedFrom(t, JSON.stringify({ ...ROW, ids: ['bus-*', 'tram'] }))
  const { ids } = /** @type {any} */ (get(digestOf(SECRET)))
  t.same(['bus-7', 'tram', 'tram-1', 'bus'].map((id) => ids.has(Buffer.from(id))), [true, true, false, false])
  for (const row of [ROW, { ...ROW, ids: ['bus-*', '*'] }]) {
    t.equal((await openedFrom(t, JSON.stringify(row))).get(digestOf(SECRET))?.ids, null)
  }
})

t.test('faults are named by line, all at once, without the text of the line', async (t) => {
  for (const [lines, words] of /** @type {[any[], RegExp][]} */ ([
    [[SECRET], /line 1: not JSON/], [[`"${SECRET}"`], /line 1: not an object/], [['', JSON.stringify([ROW])], /line 2: not an object/],
    [[{ ...ROW, scope: ['read'] }], /a field other than token, scopes, feeds/], [[{ ...ROW, token: 'short' }], /token is not 8 or more/],
    [[{ ...ROW, token: 'with a space in it' }], /token is not/], [[{ ...ROW, token: undefined }], /token is not/],
    [[{ ...ROW, scopes: ['reed'] }], /scopes is not a list of read, write, admin/], [[{ ...ROW, scopes: [] }], /scopes is not/],
    [[{ ...ROW, scopes: 'read' }], /scopes is not/], [[{ ...ROW, feeds: 'latest' }], /feeds is not a list of feed names/],
    [[{ ...ROW, feeds: ['*-bus'] }], /feeds is not/], [[{ ...ROW, feeds: ['@a*'] }], /feeds is not/],
    [[{ ...ROW, feeds: undefined }], /feeds is not/],
    [[{ ...ROW, ids: null }], /line 1: ids is not a list; expected a list of 1-1000 ids, or beginnings of ids such as "bus-\*", or no ids/],
    [[{ ...ROW, ids: [] }], /ids is a list of 0/], [[{ ...ROW, ids: 'bus-*' }], /ids is not a list/],
    [[{ ...ROW, ids: ['a', 7] }], /ids is an id of type number/], [[{ ...ROW, ids: [''] }], /ids is an id of 0 bytes/],
    [[{ ...ROW, ids: ['a\n'] }], /ids is an id with a control character/],
    [[{ ...ROW, id: ['a'] }], /a field other than token, scopes, feeds, ids/],
    [[ROW, { ...ROW, scopes: ['write'] }], /line 2: a token that an earlier line has/],
    [[ROW, 'x', 'y'], /line 2: not JSON; line 3: not JSON; expected lines such as/]
  ])) {
    const text = lines.map((line) => typeof line === 'string' ? line : JSON.stringify(line)).join('\n')
    const error = await openedFrom(t, text).catch((error) => error)
    t.match(error, { code: 'TOKENS_INVALID', exitStatus: 2, message: words })
    t.notMatch(error.message, SECRET)
  }
})

t.test('a file that every user can read is a warning', async (t) => {
  t.same((await openedFrom(t, JSON.stringify(ROW), 0o600)).warnings, [])
  t.match((await openedFrom(t, JSON.stringify(ROW), 0o644)).warnings, [/every user of this machine can read the token file/])
})
