/** The header of each rule and its body agree; so does the twin of `max` in JavaScript. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import t from 'tap'
import { RULES } from '../../lab/rules/index.js'
import { createOracle } from '../../lab/rules/oracle.js'

const LUA = new URL('../../lua/rules/', import.meta.url)
const JAVASCRIPT = new URL('../../lab/rules/', import.meta.url)
const PARTS = ['VERSION', 'STATE', 'ARGS', 'CODES']

const names = readdirSync(LUA).filter((file) => file.endsWith('.lua')).map((file) => file.replace('.lua', '')).sort()

t.test('rule max is there twice', async (t) => {
  t.same(Object.keys(RULES), ['max'])
})

/** @param {string} text @param {RegExp} pattern with one group */
const allOf = (text, pattern) => [...new Set([...text.matchAll(pattern)].map(([, word]) => word))].sort()

/** A rule is a file, a folder with files by subject, or both. @param {URL} place @param {string} name @param {string} ending */
function textOf (place, name, ending) {
  const [file, folder] = [new URL(name + ending, place), new URL(`${name}/`, place)]
  const parts = existsSync(folder) ? readdirSync(folder).map((part) => new URL(part, folder)) : []
  return [...existsSync(file) ? [file] : [], ...parts].map((one) => readFileSync(one, 'utf8')).join('\n')
}

for (const name of names) {
  t.test(`${name}: header and body${RULES[name] ? ', and twin' : ''}`, async (t) => {
    const lua = textOf(LUA, name, '.lua')
    const [effect, ...rest] = lua.split('\n')
    t.match(effect, new RegExp(`^-- Rule ${name}: .*\\.$`))
    t.same(rest.slice(0, PARTS.length).map((line) => /^-- ([A-Z]+) /.exec(line)?.[1]), PARTS)
    const header = (/** @type {string} */ part) => new RegExp(`^-- ${part} (.*)$`, 'm').exec(lua)?.[1] ?? ''
    const codes = header('CODES').split(', ').sort()
    t.same(allOf(lua, /return '([a-z_]+)'/g), codes)
    const ops = header('ARGS').split('; ').map((op) => op.split(' ')[0]).sort()
    t.same(allOf(lua, /^(?:function ops|steps)\.(\w+)/gm), ops)
    if (!RULES[name]) return
    const javascript = textOf(JAVASCRIPT, name, '.js')
    t.same(allOf(javascript, /code: '([a-z_]+)'/g), codes)
    t.same(allOf(javascript, /^ {2}(?!if)(\w+)(?: \(state)/gm), ops)
  })
}

t.test('a bid and the end in the same millisecond: the bid is late, whichever comes first', async (t) => {
  for (const isClosedFirst of [false, true]) {
    const oracle = createOracle()
    let n = 0
    const admit = (/** @type {string[]} */ args, /** @type {number} */ now) =>
      oracle.admit([{ rule: 'max', key: 'a', scope: '', requestId: String(++n), args }], now)[0].code
    t.equal(admit(['create', '100', '10', '0', '1000', '0', '0', '', '', 'EUR'], 1), 'created')
    t.equal(admit(['bid', 'ann', '100', ''], 999), 'accepted')
    t.equal(admit(['due'], 999), 'not_due')
    const codes = isClosedFirst
      ? [admit(['due'], 1000), admit(['bid', 'bob', '200', ''], 1000)]
      : [admit(['bid', 'bob', '200', ''], 1000), admit(['due'], 1000)]
    t.same(codes.sort(), ['closed', 'ended'])
    t.match(oracle.states.get('a'), { leader: 'ann', price: '100', status: 'closed', seq: '2' })
  }
})
