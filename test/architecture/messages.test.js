/**
 * What an error says: what is wrong, the value, what is expected, how to mend it. The wording is free, so this holds what does not depend
 * on it: faults of a value name the value, faults of settings the flag, the origin and the bounds too, and every code has its advice.
 */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import ts from 'typescript'
import { envOf, flagOf, resolve, SETTINGS } from '../../settings.js'
import { definedErrors, kindOf } from '../../src/errors.js'
import '../../src/http/errors.js'
import '../../readers/errors.js'
import '../../writers/gateway/errors.js'
import '../../lab/errors.js'
import '../../src/admission/errors.js'
import '../../src/consumers/errors.js'
import '../../src/sql/errors.js'
import { layoutNames } from '../../src/layouts/index.js'
import { ackNames } from '../../src/pipeline/index.js'
import { loadSystems } from '../../src/systems/list.js'
import { sourceFiles } from './source.js'

await loadSystems()

/** Statuses of a value that the caller gave: a wrong one, or the name of something that is not there. */
const OF_VALUES = [400, 404, 413, 415, 422]
/** Faults without a value: it is absent, is bytes, or is not what is wrong. */
const WITHOUT_VALUE = [
  'the request has no body', 'no Host header', 'the body is not valid UTF-8', 'the name of the file ends in .gz',
  'since and tail: both are given',
  // of the lab: a combination of flags
  'the lab is a part', '--count starts servers', 'ad-hoc compares two settings', 'windowMs 0', 'rate 0'
]

/** @param {string} code */
function isOfValue (code) {
  const kind = kindOf(code)
  return kind !== undefined && !kind.retryable && (kind.exitStatus === 2 || OF_VALUES.includes(Number(kind.status)))
}

/** Errors that the source makes, with the expression of their message. @returns {Promise<{ at: string, code: string, message: any }[]>} */
async function madeErrors () {
  const made = []
  for (const { file, text } of await sourceFiles()) {
    if (!text.includes('new FreshetError(')) continue
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
    /** @param {import('typescript').Node} node */
    const walk = (node) => {
      if (ts.isNewExpression(node) && node.expression.getText() === 'FreshetError') {
        const [code, message] = node.arguments ?? []
        const at = `${file}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`
        made.push({ at, code: ts.isStringLiteralLike(code) ? code.text : '', message })
      }
      ts.forEachChild(node, walk)
    }
    walk(source)
  }
  return made
}

t.test('an error about a value that someone gave names the value', async (t) => {
  const made = (await madeErrors()).filter(({ code }) => isOfValue(code))
  t.ok(made.length > 40, `${made.length} of them`)
  for (const { at, code, message } of made) {
    const fixed = message === undefined ? '' : ts.isStringLiteralLike(message) ? message.text : null
    t.ok(fixed === null || WITHOUT_VALUE.some((begin) => fixed.startsWith(begin)), `${at}: ${code}: ${fixed || 'no message'}`)
  }
})

/** Errors whose message is the text of another program, or whose reader can do nothing. */
const WITHOUT_ADVICE = Object.freeze({
  RULE_FAILED: 'the error of the rule, with its line',
  DATABASE_REFUSED: 'the error of the database',
  DYNAMODB_REFUSED: 'the error of DynamoDB',
  PAYMENT_REFUSED: 'the error of the payment provider',
  SERVER_UNTRUSTED: 'the fault of a certificate, in words of OpenSSL',
  SEGMENT_INVALID: 'the entry is skipped, counted and logged',
  LEASE_LOST: 'the other owner goes on',
  CLIENT_GONE: 'the client does not read it',
  INTERNAL: 'a defect of this program'
})
const ADVICE = /expected|[;.?] |: npm install|, run |: in a checkout/

/**
 * What of a message the source shows: texts, parts of templates, and constants of the file.
 * @param {any} message @returns {string | null} null: it is computed elsewhere
 */
function shownOf (message) {
  if (message === undefined) return ''
  if (ts.isStringLiteralLike(message)) return message.text
  if (ts.isIdentifier(message)) {
    return new RegExp(`\\bconst ${message.text} = ['\`](.*)['\`]$`, 'm').exec(message.getSourceFile().text)?.[1] ?? null
  }
  if (ts.isParenthesizedExpression(message)) return shownOf(message.expression)
  const parts = ts.isTemplateExpression(message)
    ? [message.head.text, ...message.templateSpans.flatMap(({ expression, literal }) => [shownOf(expression) ?? '', literal.text])]
    : ts.isBinaryExpression(message)
      ? [shownOf(message.left) ?? '', shownOf(message.right) ?? '']
      : ts.isConditionalExpression(message) ? [shownOf(message.whenTrue) ?? '', shownOf(message.whenFalse) ?? ''] : null
  return parts && parts.join('')
}

t.test('an error that the same call would get again says what is expected, or what to do', async (t) => {
  const made = (await madeErrors()).filter(({ at, code }) => kindOf(code)?.retryable === false && !(code in WITHOUT_ADVICE) &&
    kindOf(code)?.domain !== 'lab' && !at.startsWith('lab/'))
  let count = 0
  for (const { at, code, message } of made) {
    const shown = shownOf(message)
    if (shown === null) continue
    count++
    t.match(shown, ADVICE, `${at}: ${code}: ${shown || 'no message'}`)
  }
  t.ok(count > 150, `${count} of them`)
})

t.test('a fault of a setting has its name, its value, what is expected, and where it was given', async (t) => {
  const wrong = '?\u{1F6AB} wrong'
  const known = { layouts: layoutNames(), acks: ackNames() }
  let count = 0
  for (const row of SETTINGS) {
    const command = row.uses.find((use) => use !== 'library')
    const origin = envOf(row)
    if (!command || !origin) continue
    const faults = await faultsOf(() => resolve([], { [origin]: wrong }, { command, ...known }))
    // names of files and other free texts may be anything
    if (faults.length === 0) continue
    count++
    const of = row.check.expects
    const expected = typeof of === 'string' ? of : of({ command, ...known })
    const fault = faults.find((one) => one.includes(origin)) ?? ''
    t.ok(fault.startsWith(row.name), `${row.name}: the name and the origin, in ${fault || faults.join()}`)
    // another fault is one of the rules between settings, which names the other setting
    const others = SETTINGS.filter((other) => other !== row).map((other) => `--${flagOf(other.name)}`)
    t.ok(fault.includes(expected) || others.some((flag) => fault.includes(flag)), `${row.name}: what is expected, in ${fault}`)
    t.ok(fault.includes('wrong') || /url|secret|key|token|password|target/i.test(row.name), `${row.name}: the value, in ${fault}`)
  }
  t.ok(count > 60, `${count} settings`)
})

/** @param {() => any} attempt @returns {Promise<string[]>} */
async function faultsOf (attempt) {
  try {
    await attempt()
    return []
  } catch (error) {
    return error.faults ?? [error.message]
  }
}

t.test('every code has one line of advice that does not repeat its meaning', async (t) => {
  const page = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8')
  for (const { code, meaning } of definedErrors()) {
    const advice = page.split('\n').find((line) => line.startsWith(`| \`${code}\` |`))?.split(' | ').at(-1) ?? ''
    t.ok(advice.length > 10, code)
    t.notOk(advice.toLowerCase().startsWith(meaning.toLowerCase()), code)
  }
})
