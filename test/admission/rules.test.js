/** The header of each rule, its body and its twin in JavaScript agree. */
import { readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { RULES } from '../../src/admission/rules/index.js'

const LUA = new URL('../../lua/rules/', import.meta.url)
const JAVASCRIPT = new URL('../../src/admission/rules/', import.meta.url)
const PARTS = ['STATE', 'ARGS', 'CODES']

const names = readdirSync(LUA).map((file) => file.replace('.lua', '')).sort()

t.test('each rule is there twice', async (t) => {
  t.same(Object.keys(RULES).sort(), names)
})

/** @param {string} text @param {RegExp} pattern with one group */
const allOf = (text, pattern) => [...new Set([...text.matchAll(pattern)].map(([, word]) => word))].sort()

for (const name of names) {
  t.test(`${name}: header, body and twin`, async (t) => {
    const lua = readFileSync(new URL(`${name}.lua`, LUA), 'utf8')
    const javascript = readFileSync(new URL(`${name}.js`, JAVASCRIPT), 'utf8')
    const [effect, ...rest] = lua.split('\n')
    t.match(effect, new RegExp(`^-- Rule ${name}: .*\\.$`))
    t.same(rest.slice(0, PARTS.length).map((line) => /^-- ([A-Z]+) /.exec(line)?.[1]), PARTS)
    const header = (/** @type {string} */ part) => new RegExp(`^-- ${part} (.*)$`, 'm').exec(lua)?.[1] ?? ''
    const codes = header('CODES').split(', ').sort()
    t.same(allOf(lua, /return '([a-z_]+)'/g), codes)
    t.same(allOf(javascript, /code: '([a-z_]+)'/g), codes)
    const ops = header('ARGS').split('; ').map((op) => op.split(' ')[0]).sort()
    t.same(allOf(lua, /^ {2}function ops\.(\w+)/gm), ops)
    t.same(allOf(javascript, /^ {2}(?!if)(\w+) \(state/gm), ops)
    t.ok(lua.split('\n').length < 160)
  })
}
