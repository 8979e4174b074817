/** Rules of users get bounded functions, which return the same as those of Lua. */
import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import t from 'tap'
import { ownChunkOf, patternsIn } from '../../src/admission/rule-text.js'
import { readScript } from '../../src/store/scripts.js'
import { holds } from '../properties.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, startServer } from '../servers.js'

const COMPARE = readScript('compare', { compare: await readFile(new URL('./guards/compare.lua', import.meta.url), 'utf8') })
const CALLS = 50

const words = (/** @type {string[]} */ pieces, /** @type {number} */ maxLength) =>
  fc.array(fc.constantFrom(...pieces), { maxLength }).map((list) => list.join(''))
const anyText = words(['a', 'b', 'ab', ' ', ',', '1', '(', ')', '%', '$', '^', 'é', '\0'], 20)
const CLASSES = ['a', 'b', '.', ' ', ',', '%s', '%d', '%%', '%(', '[^,]', '[ab]', '[%s]', '[^%d]', '[]]', '[a-z]', '\0']
const anyItem = fc.tuple(fc.constantFrom(...CLASSES),
  fc.constantFrom('', '', '*', '+', '-', '?')).map((pair) => pair.join(''))
const anyPattern = fc.tuple(fc.constantFrom('', '', '^'), fc.array(fc.oneof(
  { weight: 5, arbitrary: anyItem }, fc.constantFrom('(', ')', '()', '%b()', '%bab', '%f[a]', '%f[%s]', '%1', '(a*)', '(.-)', '%', '[')
), { maxLength: 5 }), fc.constantFrom('', '', '$')).map(([first, items, last]) => first + items.join('') + last)
const anyInit = fc.integer({ min: -25, max: 25 })
const anyCall = fc.tuple(anyText, anyPattern, fc.oneof(
  fc.tuple(fc.constantFrom('match', 'gmatch'), fc.constant(null), fc.constant([])),
  fc.tuple(fc.constant('match'), fc.constant(null), fc.tuple(anyInit)),
  fc.tuple(fc.constant('find'), fc.constant(null), fc.oneof(fc.constant([]), fc.tuple(anyInit), fc.tuple(anyInit, fc.boolean()))),
  fc.tuple(fc.constant('gsub'),
    fc.constantFrom('', 'x', '%0%0', '%1', '<%2>', '%', '%%', 'function', 7, true, { a: 'A', b: false, ' ': 5 }),
    fc.oneof(fc.constant([]), fc.tuple(fc.integer({ min: -1, max: 5 }))))
)).map(([text, pattern, [name, replace, more]]) => ({ name, text, pattern, replace, more }))
const anyRepeat = fc.tuple(anyText, fc.oneof(fc.integer({ min: -2, max: 200 }), fc.double({ min: -3, max: 9, noNaN: true })))
  .map(([text, count]) => ({ name: 'rep', text, pattern: count, more: [] }))

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { url } = await startServer(t, { engine })
    const connection = await connectFor(t, url)
    const compare = async (/** @type {object[]} */ calls) =>
      (await connection.runScript(COMPARE, [], calls.map((call) => JSON.stringify(call)))).map(String)

    await t.test('they return what those of Lua return, with the same errors, in each spelling', async (t) => {
      let refused = 0
      let same = 0
      const anyCalls = fc.array(fc.oneof({ weight: 9, arbitrary: anyCall }, anyRepeat), { minLength: CALLS, maxLength: CALLS })
      await holds(t, fc.asyncProperty(anyCalls, async (calls) => {
        for (const [i, answer] of (await compare(calls)).entries()) {
          if (answer === 'same') same++
          else if (answer === 'refused') refused++
          else throw new Error(`${JSON.stringify(calls[i])}: ${answer}`)
        }
      }), { runs: 300 })
      t.equal(refused, 0, 'short texts are not refused')
      t.ok(same >= CALLS, `${same} calls`)
    })

    await t.test('a table replaces by the first capture, and a function gets all', async (t) => {
      const patterns = ['(.-)(', '(a)(', '(', '()(', '(a)(b)', '()', '(b)(a']
      const calls = patterns.flatMap((pattern) => ['', 'abab'].flatMap((text) => [{ a: 'A', b: false, ' ': 5 }, {}, 'function', '%1', 7]
        .map((replace) => ({ name: 'gsub', text, pattern, replace, more: [] }))))
      t.same(await compare(calls), calls.map(() => 'same'))
    })

    await t.test('a pattern is refused from the length on from which it costs 100 million steps', async (t) => {
      const limits = /** @type {[string, number][]} */ ([
        ['^%s*(.-)%s*$', 843], ['%s+$', 14_142], ['.-.-.-.-.-x', 61], ['a-b', 14_142],
        ['([^,]+),', 14_142], ['[^,]+', 100_000_000], ['%b()', 14_142], ['(a*)%1b', 843], ['%f[%w]%w+', 100_000_000]
      ])
      const found = await connection.runScript('pattern-limits', [], limits.map(([pattern]) => pattern))
      t.same(found.map(Number), limits.map(([, limit]) => limit))
      // each repeat leaves one way
      const [split, lazy, choices, long] = await connection.runScript('pattern-limits', [],
        ['^([^,]*),([^,]*),(%d+)$', '^a-b', 'a?'.repeat(40), 'a*'.repeat(3000)])
      for (const one of [split, lazy]) t.ok(Number(one) > 1e9)
      t.same([choices, long].map(Number), [-1, -1])
    })
  })
}

const codeOf = (/** @type {string} */ text) => ownChunkOf(text).split('\n').slice(1, -1).join('\n')

t.test('a method of a text and an index that may be a text are guarded, and nothing else changes', async (t) => {
  const texts = /** @type {[string, string][]} */ ([
    ["local a = args[1]:find('x')", "local a = __methodsOf(args[1]):find('x')"],
    ["a.b[c].d = state['find']", "__fieldsOf(a.b)[c].d = __fieldsOf(state)['find']"],
    ["state['seat:' .. a] = state.seat[1]", "state['seat:' .. a] = state.seat[1]"],
    ["state['fi' .. 'nd'] = 1", "__fieldsOf(state)['fi' .. 'nd'] = 1"],
    ["state['seat' == a or b] = 1", "__fieldsOf(state)['seat' == a or b] = 1"],
    ["local f = ('').find", "local f = __fieldsOf(('')).find"],
    ["f'x'[k]:gsub(a, b):rep(3)", "__methodsOf(__methodsOf(__fieldsOf(f'x')[k]):gsub(a, b)):rep(3)"],
    ['local function find (a) end function M.find (a) end', 'local function find (a) end function M.find (a) end'],
    ['function M:match (b) end', 'function M:match (b) end'],
    ['t = { find = 1, [k] = 2, f[k], { match = x } }', 't = { find = 1, [k] = 2, __fieldsOf(f)[k], { match = x } }'],
    ['-- a:find(x)\n--[[ b:find() ]] local s = [==[ c:find() ]] ]==]', '-- a:find(x)\n--[[ b:find() ]] local s = [==[ c:find() ]] ]==]'],
    ['-- x\rlocal y = a:rep(2)', '-- x\rlocal y = __methodsOf(a):rep(2)'],
    ['local z = 0xE+a[k]', 'local z = 0xE+__fieldsOf(a)[k]'],
    ["if a then return s:match('x'), 1 end", "if a then return __methodsOf(s):match('x'), 1 end"],
    ["if a then return s:match('x') end", "if a then return __results(__methodsOf(s):match('x')) end"],
    ['return table.concat(t)', 'return __results(table.concat(t))']
  ])
  for (const [text, code] of texts) t.equal(codeOf(text), code)
})

t.test('patterns of a rule are those that stand in its calls', async (t) => {
  const text = "local a, b = string.find(x, '^a-b'), s:gsub(\"%s+$\", '') local c = x:match('^a-b', 2) local d = 'a-b' .. s:find(y)"
  t.same(patternsIn(text), ['^a-b', '%s+$'])
})
