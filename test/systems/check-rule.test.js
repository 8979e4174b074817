/** checkRule finds folds and certain rejections that do not agree with the Lua. */
import t from 'tap'
import { checkRule } from '../../src/systems/index.js'
import { connectFor, eventually } from '../servers.js'
import { sharedDeployment } from '../shared.js'
import { ruleOf } from './seats.js'

const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
const LUA = ruleOf(`local left = tonumber(state.left or '5')
  if args[1] == 'refill' then state.left = 5 return 'refilled', {}, { reopens = true, events = { { type = 'left', left = 5 } } } end
  if left == 0 then return 'gone', {} end
  if tonumber(args[2]) > left then return 'insufficient', {} end
  state.left = left - tonumber(args[2])
  return 'took', {}, { events = { { type = 'left', left = state.left } } }`)
const commands = (/** @type {() => number} */ random) => random() < 0.1 ? ['refill'] : ['take', 1 + Math.floor(3 * random())]
const fold = (/** @type {any} */ state, /** @type {any} */ { left }) => ({ ...state, left })
const certain = (/** @type {any} */ { left }, /** @type {readonly string[]} */ [op]) => op === 'take' && left === '0' ? 'gone' : null
const options = { redisUrl, keyPrefix, commands, runs: 20, seed: 7 }

t.test('a rule whose parts agree passes, with the same commands for the same seed, and leaves no key', async (t) => {
  const printed = t.capture(process.stdout, 'write', process.stdout.write)
  const { seed, runs, commands: sent, accepted } = await checkRule({ lua: LUA, fold, certain }, options)
  t.ok(printed().some(({ args: [text] }) => text === 'checkRule: seed 7\n'))
  t.match({ seed, runs }, { seed: 7, runs: 20 })
  t.ok(sent >= 400 && accepted > 100, `${accepted} of ${sent} commands`)
  t.same(await checkRule({ lua: LUA, fold, certain }, options), { seed, runs, commands: sent, accepted })
  const connection = await connectFor(t, redisUrl)
  t.same((await connection.send('KEYS', `${keyPrefix}*check-*`)).map(String), [])
  // other files check rules on this server, too
  await eventually(async () => (await connection.send('FUNCTION', 'LIST', 'LIBRARYNAME', 'freshet_check_*')).length === 0)
})

t.test('what does not agree is an error with the seed and the commands', async (t) => {
  const wrong = /** @type {[any, RegExp][]} */ ([
    [{ fold: (/** @type {any} */ state) => state, certain }, /fold has \{\}, and the server \{"left":"\d"\} \(seed 7, after the commands /],
    [{ fold () { throw new Error('x') } }, /fold throws, or returns no state/],
    [{ fold, certain: (/** @type {any} */ { left }) => left === '0' ? 'gone' : null }, /certain rejects refill with gone, and the Lua answers refilled, accepted/],
    [{ certain: (/** @type {any} */ { left }) => left === '1' ? 'gone' : null }, /certain rejects take \d with gone, and the Lua answers (took|insufficient)/]
  ])
  for (const [parts, message] of wrong) {
    await t.rejects(checkRule({ lua: LUA, ...parts }, options), { code: 'RULE_INCONSISTENT', message, seed: 7 })
  }
  await t.rejects(checkRule({ lua: LUA }, { ...options, commands: /** @type {any} */ (7) }), { code: 'SETTINGS_INVALID' })
})

t.test('a change without an event is found, and a rejection that does not last', async (t) => {
  const silent = LUA.replace("return 'took', {}, { events = { { type = 'left', left = state.left } } }", "return 'took', {}, {}")
  await t.rejects(checkRule({ lua: silent, fold }, options), { code: 'RULE_INCONSISTENT', message: /after take \d fold has/ })
  const short = LUA.replace('reopens = true, ', '')
  await t.rejects(checkRule({ lua: short, fold, certain }, options), { code: 'RULE_INCONSISTENT', message: /certain rejects take \d with gone/ })
})

t.test('a value of a type that a part does not take is found, whatever the part, with the commands', async (t) => {
  const others = ['true', '1.5', '0 / 0', '1 / 0', '{}', 'function () end']
  const names = ['7', 'true', '{}', 'function () end', "''"]
  const parts = /** @type {Record<string, (name: string, value: string) => string>} */ ({
    'the state': (name, value) => `state[${name}] = ${value} return 'ok', {}, {}`,
    'the details': (name, value) => `return 'ok', { [${name}] = ${value} }`,
    events: (name, value) => `return 'ok', {}, { events = { { type = 'x', [${name}] = ${value} } } }`,
    tasks: (name, value) => `return 'ok', {}, { tasks = { [${name}] = ${value} } }`,
    members: (name, value) => `return 'ok', {}, { members = { [${name}] = ${value} } }`,
    holds: (name, value) => `return 'ok', {}, { holds = { [${name}] = ${value} } }`,
    waiting: (name, value) => `return 'ok', {}, { waiting = { [${name}] = ${value} } }`
  })
  const bodies = Object.entries(parts).flatMap(([part, bodyOf]) => [
    ...others.map((value) => [part, bodyOf("'a'", value)]),
    ...names.map((name) => [part, bodyOf(name, '7')]),
    ...['members', 'holds', 'waiting', 'tasks'].includes(part) ? names.map((name) => [part, bodyOf(name, 'false')]) : []
  ])
  const whole = [...others.filter((one) => one !== '{}'), "'x'"]
  for (const part of ['events', 'tasks', 'members', 'holds', 'waiting']) {
    for (const value of whole) bodies.push([part, `return 'ok', {}, { ${part} = ${value} }`])
  }
  for (const value of [...others, "'x'"]) {
    if (value !== 'true') for (const part of ['ends', 'reopens']) bodies.push([part, `return 'ok', {}, { ${part} = ${value} }`])
    if (value !== '{}') bodies.push(['the third value', `return 'ok', {}, ${value}`])
    if (value !== "'x'") bodies.push(['the code', `return ${value}, {}`], ['an event', `return 'ok', {}, { events = { ${value} } }`])
    if (value !== "'x'") bodies.push(['a type', `return 'ok', {}, { events = { { type = ${value} } } }`])
    bodies.push(['a name', `return 'ok', {}, { [${value}] = {} }`], ['an error', `error(${value})`])
  }
  for (const long of ["string.rep('x', 2 ^ 19) .. string.rep('y', 2 ^ 19) .. 'z'"]) {
    bodies.push(['a long text', `state.a = ${long} return 'ok', {}, {}`], ['a long name', `return 'ok', {}, { holds = { [${long}] = 7 } }`])
  }
  bodies.push(['too many', "local all = {} for i = 1, 10001 do all['n' .. i] = i end return 'ok', {}, { holds = all }"])
  t.comment(`${bodies.length} rules`)
  const few = { ...options, runs: 1, commands: () => ['x'] }
  for (const [part, body] of bodies) {
    const lua = ruleOf(`if true then ${body} end`)
    await t.rejects(checkRule({ lua, keeps: ['members', 'holds', 'waiting'] }, few),
      { code: 'RULE_FAILED', message: /a rule of check-\w+ failed: .*\(seed 7, after the commands x\)/ }, `${part}: ${body}`)
  }
})

t.test('a rule that goes on after its key has ended passes', async (t) => {
  const lua = ruleOf(`local op, name = args[1], args[2]
    if op == 'end' then return op, {}, { ends = true } end
    if op == 'hold' then return op, {}, { holds = { [name] = now + 60000 }, members = { [name] = 1 }, waiting = { [name] = 1 } } end
    return op, {}, { events = { { type = op } }, members = { [name] = false }, holds = { [name] = false } }`)
  const commands = (/** @type {() => number} */ random) =>
    [['end', 'hold', 'drop'][Math.floor(random() * 3)], ['ann', 'bob'][Math.floor(random() * 2)]]
  const { accepted } = await checkRule({ lua, keeps: ['members', 'holds', 'waiting'] }, { ...options, commands })
  t.equal(accepted, 400)
})
