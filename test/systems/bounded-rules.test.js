/** What FUNCTION KILL cannot stop, because it is one call of Lua, is refused before it runs. */
import t from 'tap'
import { checkRule, openSystem } from '../../src/systems/index.js'
import { scopedEngines } from '../scope.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { sharedDeployment } from '../shared.js'
import { openSeats, ruleOf } from './seats.js'

const A200 = "string.rep('a', 200)"
const LAZY = '.-.-.-.-.-x'
const LAZY_REFUSED = new RegExp(`line 2: find refuses a text of 200 bytes: the pattern '${LAZY}' .*from 62 bytes on`)
const BLANKS = "('x' .. string.rep(' ', 60000) .. 'x')"
const TRIM = '^%s*(.-)%s*$'
const BIG_REFUSED = /line 2: (rep|concat|gsub) refuses to make a text of more than 1048576 bytes/

/** Bodies of rules, and why each is refused: at its second line. @type {Record<string, [body: string, why: RegExp]>} */
const HOSTILE = {
  plain: [`local at = string.find(${A200}, '${LAZY}')`, LAZY_REFUSED],
  returned: [`return string.find(${A200}, '${LAZY}')`, LAZY_REFUSED],
  method: [`local at = ${A200}:find('${LAZY}')`, LAZY_REFUSED],
  returnedmethod: [`return ${A200}:find('${LAZY}')`, LAZY_REFUSED],
  alias: [`local f = string.find local at = f(${A200}, '${LAZY}')`, LAZY_REFUSED],
  index: [`local at = string['find'](${A200}, '${LAZY}')`, LAZY_REFUSED],
  computed: [`local k = 'fi' .. 'nd' local at = string[k](${A200}, '${LAZY}')`, LAZY_REFUSED],
  oftext: [`local f = ('').find local at = f(${A200}, '${LAZY}')`, LAZY_REFUSED],
  ofargument: [`local f = args[1].find local at = f(${A200}, '${LAZY}')`, LAZY_REFUSED],
  computedoftext: [`local at = args[1][args[1]](${A200}, '${LAZY}')`, LAZY_REFUSED],
  escaped: [`local f = ('')['f\\105nd'] local at = f(${A200}, '${LAZY}')`, LAZY_REFUSED],
  own: [`local string = '' local f = string.find local at = f(${A200}, '${LAZY}')`, LAZY_REFUSED],
  metatable: [`local f = getmetatable('').__index.find local at = f(${A200}, '${LAZY}')`, /line 2: attempt to index a nil value/],
  protected: [`local ok, why = pcall(string.find, ${A200}, '${LAZY}') error(why)`, /line 2: find refuses a text of 200 bytes/],
  trim: [`local kept = string.match(${BLANKS}, '${TRIM}')`, /line 2: match refuses a text of 60002 bytes.*from 844 bytes on/],
  trimmethod: [`local kept = ${BLANKS}:gsub('%s+$', '')`, /line 2: gsub refuses a text of 60002 bytes.*from 14143 bytes on/],
  each: [`for word in ${BLANKS}:gmatch('(%s*)(.-)y') do end`, /line 2: gmatch refuses a text of 60002 bytes/],
  choices: ["local at = string.rep('a', 40):find(string.rep('a?', 40) .. string.rep('a', 40) .. 'b')", /line 2: find refuses/],
  deep: ["local at = string.find('', string.rep('a*', 300000))", /line 2: find refuses a text of 0 bytes/],
  literal: ["local at = string.find(string.rep('a', 2^20), string.rep('a', 2^19) .. 'b', 1, true)", /line 2: find refuses/],
  rep: ["local big = string.rep('x', 2^30)", BIG_REFUSED],
  repmethod: ["local big = ('xy'):rep(2^19 + 1)", BIG_REFUSED],
  concat: ["local t = {} for i = 1, 100 do t[i] = string.rep('x', 20000) end local big = table.concat(t)", BIG_REFUSED],
  separator: ["local big = table.concat({ 'a', 'b', 'c' }, string.rep('x', 2^19))", BIG_REFUSED],
  gsub: ["local big = string.rep('x', 100000):gsub('x', string.rep('y', 1000))", BIG_REFUSED],
  gsubtable: ["local big = string.rep('x', 100000):gsub('x', { x = string.rep('y', 1000) })", BIG_REFUSED],
  gsubnumber: ["local big = string.rep('x', 100000):gsub('x', { x = 1234567890123 })", BIG_REFUSED],
  gsubbynumber: ["local big = string.rep('x', 2^20):gsub('', 1234567890123)", BIG_REFUSED],
  gsubnumberpattern: ["local big = string.rep('1', 2^19):gsub(1, string.rep('y', 3))", BIG_REFUSED],
  gsubofnumber: ["local big = string.gsub(11111111111111, 1, string.rep('y', 900000))", BIG_REFUSED],
  handler: ['while true do xpcall(function () end, function () end) end', /line 2: attempt to call .*'xpcall' \(a nil value\); a rule cannot use it/],
  coroutine: ['local f = coroutine.wrap(function () while true do end end)', /line 2: attempt to index .*'coroutine' \(a nil value\); a rule cannot use it/]
}

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const { url: redisUrl } = await startServer(t, { engine })

    await t.test('calls that nothing could stop are refused in each spelling, with the line of the rule', async (t) => {
      const rules = Object.fromEntries(Object.entries(HOSTILE).map(([name, [body]]) => [name, { lua: ruleOf(body) }]))
      const system = await openSystem({ name: 'hostile', rules }, { redisUrl, partitions: 1, deadlineMs: 10_000 })
      t.teardown(() => system.close())
      for (const [rule, [, message]] of Object.entries(HOSTILE)) {
        await t.rejects(system.submit({ rule, key: 'a', args: ['find'] }), { code: 'RULE_FAILED', message, isStopped: undefined }, rule)
      }
      t.match(system.account, { failed: Object.keys(HOSTILE).length, stopped: 0 })
    })

    await t.test('what stays below is as in Lua, and trim is linear', async (t) => {
      const { submit } = await openSeats(t, { redisUrl, keyPrefix: 'fr:', partitions: 1 }, {
        lua: ruleOf(`state.find, state.rep = state.find, 'b'
          local words = {}
          for word in args[1]:gmatch('%S+') do words[#words + 1] = word end
          table.sort(words, function (a, b) return a > b end)
          local upper, count = args[1]:gsub('%w+', function (word) return word:upper() end)
          local list = {}
          for i = 1, 1500 do list[i] = string.format('%04d', 1500 - i) end
          table.sort(list)
          local ok, why = pcall(string.find, nil, 'a')
          return 'said', { words = table.concat(words, ','), upper = upper, count = count, rep = state.rep:rep(3, 'x'), first = list[1],
            trimmed = '<' .. trim(args[1]) .. '>', blank = '<' .. trim(string.rep(' ', 60000)) .. '>', inner = #trim(${BLANKS}), why = why,
            full = #string.rep('x', 2^20), joined = #table.concat({ string.rep('x', 2^20 - 1), 'y' }) }, {}`)
      })
      t.match((await submit('a', '  b a\tc ')).details, {
        words: 'c,b,a',
        upper: '  B A\tC ',
        count: '3',
        rep: 'bbb',
        first: '0000',
        trimmed: '<b a\tc>',
        blank: '<>',
        inner: '60002',
        why: /bad argument #1 to 'find' \(string expected, got nil\)/,
        full: '1048576',
        joined: '1048576'
      })
    })

    await t.test('arguments above 4 KiB are refused before they are sent, unless the rule declares more', async (t) => {
      const lua = ruleOf("return 'read', { bytes = #table.concat(args) }")
      const { system, submit } = await openSeats(t, { redisUrl, keyPrefix: 'small:' }, { lua })
      t.match(await submit('a', 'x'.repeat(4000), 'é'.repeat(48)), { details: { bytes: '4096' } })
      const before = String(await (await connectFor(t, redisUrl)).send('INFO', 'commandstats'))
      await t.rejects(submit('a', 'x'.repeat(4000), 'é'.repeat(48), 'y'), {
        code: 'ARGUMENT_INVALID', message: 'args: 4097 bytes in all; expected at most 4096; the rule seat can declare more with maxArgBytes'
      })
      t.equal(calls(String(await (await connectFor(t, redisUrl)).send('INFO', 'commandstats'))), calls(before))
      t.match(system.account, { lost: 0, failed: 0 })
      const larger = await openSeats(t, { redisUrl, keyPrefix: 'large:' }, { lua, maxArgBytes: 65_536 })
      t.match(await larger.submit('a', 'x'.repeat(65_536)), { details: { bytes: '65536' } })
      await t.rejects(larger.submit('a', 'x'.repeat(65_537)), { code: 'ARGUMENT_INVALID', message: /65537 bytes in all; expected at most 65536/ })
    })
  })
}

/** How often rules were run. @param {string} stats */
const calls = (stats) => /cmdstat_evalsha:calls=(\d+)/.exec(stats)?.[1]

t.test('checkRule names the length from which a pattern of the rule is refused, and names of the engine are refused', async (t) => {
  const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
  const lua = ruleOf(`local word = string.match(args[1], '^[^,]*')\nlocal kept = args[1]:match('${TRIM}')\nreturn 'said', {}`)
  const printed = t.capture(process.stdout, 'write', process.stdout.write)
  const { patterns } = await checkRule({ lua }, { redisUrl, keyPrefix, commands: () => ['a'], runs: 1 })
  t.same(patterns, [{ pattern: TRIM, refusedFromBytes: 844 }])
  t.ok(printed().some(({ args: [text] }) => text === `checkRule: the pattern '${TRIM}' is refused on texts of 844 bytes or more\n`))

  const stolen = ruleOf("local __fieldsOf = function (x) return x end return 'x', {}")
  await t.rejects(openSeats(t, { redisUrl, keyPrefix }, { lua: stolen }), { code: 'RULE_FAILED', message: /__fieldsOf is a name of the engine/ })
})
