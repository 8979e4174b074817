/**
 * A JSON log line with the same key twice is ambiguous: a call must not use a key that every line has.
 */
import ts from 'typescript'
import t from 'tap'
import { pino } from 'pino'
import { createLog } from '../../src/runtime/logging.js'
import { sourceFiles } from './source.js'

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal']

/** What every line has: the bindings of src/runtime/logging.js and pino's own. */
const log = createLog({ level: 'silent', role: 'test', terminal: false })
const EVERY_LINE = [...Object.keys(log.bindings()), ...Object.keys(lineOf('words'))]

/** @param {string} words @returns {Record<string, unknown>} */
function lineOf (words) {
  let text = ''
  pino({}, { write: (line) => { text = line } }).info(words)
  return JSON.parse(text)
}

/**
 * @param {string} text of a module
 * @returns {string[][]} by call of a log: the keys written there; what is spread into them is not seen
 */
function keysLogged (text) {
  /** @type {string[][]} */
  const found = []
  /** @param {import('typescript').Node} node */
  const visit = (node) => {
    ts.forEachChild(node, visit)
    if (!ts.isCallExpression(node) || !isOfLog(node.expression)) return
    const [facts] = node.arguments
    if (facts === undefined || !ts.isObjectLiteralExpression(facts)) return
    found.push(facts.properties.flatMap(({ name }) => name === undefined ? [] : [name.getText().replace(/^['"]|['"]$/g, '')]))
  }
  visit(ts.createSourceFile('module.js', text, ts.ScriptTarget.Latest, true))
  return found
}

/** `log.warn`, `request.log.warn`, `log[level]` @param {import('typescript').Expression} called */
function isOfLog (called) {
  if (ts.isPropertyAccessExpression(called) && !LEVELS.includes(called.name.text)) return false
  if (!ts.isPropertyAccessExpression(called) && !ts.isElementAccessExpression(called)) return false
  return /\blog$/i.test(called.expression.getText())
}

const logged = (await sourceFiles()).filter(({ file, text }) => /^(src|writers|readers|bin)\//.test(file) && /log\b/i.test(text))
  .map(({ file, text }) => ({ file, calls: keysLogged(text) }))

t.test('the test reads all log calls', async (t) => {
  const calls = 'a.log.warn({ role, "b": 1, ...c }, "x"); log[d ? "info" : "warn"]({ e: { f: 1 } }); log.info("g"); math.log({ h: 1 })'
  t.same(keysLogged(calls), [['role', 'b'], ['e']])
  t.ok(logged.flatMap(({ calls }) => calls).length > 30)
  t.same(['role', 'pid', 'level', 'time', 'msg'].filter((key) => !EVERY_LINE.includes(key)), [])
})

t.test('no log line has a key twice', async (t) => {
  const wrong = logged.flatMap(({ file, calls }) =>
    calls.flat().filter((key) => EVERY_LINE.includes(key)).map((key) => `${file}: ${key}`))
  t.same(wrong, [], 'use another name')
})
