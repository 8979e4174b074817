/**
 * The text of a user's rule, as its chunk has it. FUNCTION KILL does not stop what Lua does inside one call, such as string.find. So a rule
 * gets bounded functions (lua/includes/guards.lua), as arguments of its chunk:
 *
 *     string.find(s, p)   the argument `string`
 *     s:find(p)           becomes __methodsOf(s):find(p)
 *     s.find  s[name]     become __fieldsOf(s).find  __fieldsOf(s)[name]
 *
 * The metatable of texts belongs to all scripts of the server and is read-only, so methods and fields of texts cannot be replaced there.
 * Both functions return what is no text as it is. Lines keep their numbers.
 *
 * @typedef {{ kind: 'name' | 'keyword' | 'text' | 'number' | 'mark', text: string, at: number }} Token
 * @typedef {{ at: number, start: number, suffix: number }} Frame a bracket, a token; `start` of what it belongs to, and -1 if it begins
 *   something; `suffix`: it is an index
 */
import { CHUNK_HEAD } from '../store/index.js'

const FIELDS = '__fieldsOf'
const METHODS = '__methodsOf'
/** A function that a rule returns the results of has no line in errors: its call takes the place of the rule's. */
const RESULTS = '__results'
/** The line before the text of a user's rule. */
export const OWN_CHUNK_HEAD = CHUNK_HEAD.replace('()', `(string, table, getmetatable, trim, ${FIELDS}, ${METHODS}, ${RESULTS})`)
const GUARDED = Object.freeze(['find', 'match', 'gmatch', 'gsub', 'rep'])
/** Those that fail with the line of the rule. */
const FAILING = Object.freeze([...GUARDED, 'concat', 'sort', 'trim'])
const ENDS = Object.freeze(['end', 'else', 'elseif', 'until', ';', undefined])
const PATTERNED = Object.freeze(['find', 'match', 'gmatch', 'gsub'])
const KEYWORDS = Object.freeze(['and', 'break', 'do', 'else', 'elseif', 'end', 'false', 'for', 'function', 'if', 'in', 'local', 'nil',
  'not', 'or', 'repeat', 'return', 'then', 'true', 'until', 'while'])
const TOKEN = new RegExp([
  '(?<space>\\s+|--\\[(?<cl>=*)\\[[^]*?\\]\\k<cl>\\]|--[^\\n\\r]*)',
  '(?<name>[A-Za-z_]\\w*)',
  '(?<long>\\[(?<ll>=*)\\[[^]*?\\]\\k<ll>\\])',
  '(?<text>"(?:\\\\[^]|[^"\\\\])*"|\'(?:\\\\[^]|[^\'\\\\])*\')',
  '(?<number>\\.?\\d[\\d.]*(?:[eE][+-]?)?\\w*)',
  '(?<mark>\\.\\.\\.|\\.\\.|[=~<>]=|[^])'
].join('|'), 'y')
const CLOSES = /** @type {Record<string, string>} */ ({ ')': '(', ']': '[', '}': '{' })
/** Operators that bind less than the one that joins texts. */
const LOOSE = Object.freeze(['and', 'or', '==', '~=', '<', '>', '<=', '>='])

/** @param {string} text Lua that compiles @returns {Token[]} without blanks and comments */
function tokensOf (text) {
  const tokens = /** @type {Token[]} */ ([])
  for (const { index: at, groups } of text.matchAll(new RegExp(TOKEN, 'gy'))) {
    const { space, name, long, text: quoted, number, mark } = /** @type {Record<string, string>} */ (groups)
    if (space !== undefined) continue
    if (name !== undefined) tokens.push({ kind: KEYWORDS.includes(name) ? 'keyword' : 'name', text: name, at })
    else if (number !== undefined) tokens.push({ kind: 'number', text: number, at })
    else if (mark !== undefined) tokens.push({ kind: 'mark', text: mark, at })
    else tokens.push({ kind: 'text', text: quoted ?? long, at })
  }
  return tokens
}

/**
 * Whether a key may be the name of a guarded function: no number, no plain text that is none, and nothing that begins with another text.
 * @param {Token[]} key
 */
function mayBeGuarded (key) {
  const [first, joined] = key
  if (key.length === 1 && first.kind === 'number') return false
  if (first?.kind !== 'text' || !/^["'][^\\]*["']$/.test(first.text)) return true
  const text = first.text.slice(1, -1)
  if (key.length === 1) return GUARDED.includes(text)
  return joined.text !== '..' || GUARDED.some((name) => name.startsWith(text)) || key.some((token) => LOOSE.includes(token.text))
}

/** @param {Token[]} tokens @param {Frame} call @param {number} last token of it */
const isReturned = (tokens, { at, start }, last) => tokens[start - 1]?.text === 'return' && start < at &&
  FAILING.includes(tokens[at - 1].text) && ENDS.includes(tokens[last + 1]?.text)

/**
 * Each place at which a text could be indexed by the name of a guarded function.
 * @param {Token[]} tokens @param {(start: number, suffix: number, guard: string) => void} indexed tokens: of the first of what is indexed,
 *   and the one that indexes it
 * @param {(start: number, last: number) => void} returned the first and the last token of a call whose results a rule returns
 */
function findIndexes (tokens, indexed, returned) {
  /** the first token of what a suffix here would belong to; -1 = nothing */
  let start = -1
  const frames = /** @type {Frame[]} */ ([])
  tokens.forEach(({ kind, text }, i) => {
    const before = tokens[i - 1]?.text
    const isSuffixName = kind === 'name' && start >= 0 && (before === '.' || before === ':')
    if (isSuffixName) {
      if (GUARDED.includes(text)) indexed(start, i - 1, before === ':' ? METHODS : FIELDS)
    } else if (kind === 'name') {
      start = i
    } else if (text === '.' || text === ':' || (kind === 'text' && start >= 0)) {
      // goes on
    } else if (kind === 'mark' && '([{'.includes(text)) {
      frames.push({ at: i, start: start >= 0 ? start : text === '(' ? i : -1, suffix: start >= 0 && text === '[' ? i : -1 })
      start = -1
    } else if (kind === 'mark' && CLOSES[text] !== undefined) {
      const frame = frames.pop()
      start = frame?.start ?? -1
      if (frame && frame.suffix >= 0 && mayBeGuarded(tokens.slice(frame.suffix + 1, i))) indexed(start, frame.suffix, FIELDS)
      if (frame && text === ')' && isReturned(tokens, frame, i)) returned(start, i)
    } else {
      start = -1
    }
  })
}

/** Tokens that are a part of the head of a function: its name and its parameters. @param {Token[]} tokens @returns {Token[]} the others */
function withoutHeads (tokens) {
  const kept = /** @type {Token[]} */ ([])
  for (let i = 0; i < tokens.length; i++) {
    kept.push(tokens[i])
    if (tokens[i].text !== 'function' || tokens[i].kind !== 'keyword') continue
    while (i + 1 < tokens.length && tokens[i].text !== ')') i++
  }
  return kept
}

/** The chunk of a user's rule: a function that returns the rule. @param {string} text Lua that compiles */
export function ownChunkOf (text) {
  const tokens = withoutHeads(tokensOf(text))
  const added = /** @type {Map<number, string>} by position in the text */ (new Map())
  findIndexes(tokens, (start, suffix, guard) => {
    const [from, to] = [tokens[start].at, tokens[suffix].at]
    // one that is found later is around those before
    added.set(from, `${guard}(${added.get(from) ?? ''}`)
    added.set(to, `)${added.get(to) ?? ''}`)
  }, (start, last) => {
    const [from, to] = [tokens[start].at, tokens[last].at + 1]
    added.set(from, `${RESULTS}(${added.get(from) ?? ''}`)
    added.set(to, ')')
  })
  let made = ''
  let at = 0
  for (const position of [...added.keys()].sort((a, b) => a - b)) {
    made += text.slice(at, position) + added.get(position)
    at = position
  }
  return `${OWN_CHUNK_HEAD}${made}${text.slice(at)}\nend`
}

/** @param {string} text Lua that compiles @returns {string | undefined} a name in it that is not for rules */
export const reservedIn = (text) =>
  tokensOf(text).find((token) => token.kind === 'name' && [FIELDS, METHODS, RESULTS].includes(token.text))?.text

/** The patterns that stand in a rule as texts without escapes. @param {string} text Lua that compiles @returns {string[]} */
export function patternsIn (text) {
  const tokens = tokensOf(text)
  const patterns = tokens.flatMap(({ text: name, kind }, i) => {
    if (kind !== 'name' || !PATTERNED.includes(name) || tokens[i + 1]?.text !== '(') return []
    const from = tokens[i - 1]?.text === ':' ? i + 2 : tokens.findIndex((token, at) => at > i && token.text === ',') + 1
    const argument = tokens[from]
    return from > 0 && argument?.kind === 'text' && /^["'][^\\]*["']$/.test(argument.text) ? [argument.text.slice(1, -1)] : []
  })
  return [...new Set(patterns)]
}
