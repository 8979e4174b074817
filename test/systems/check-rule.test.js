/** checkRule finds folds and certain rejections that do not agree with the Lua. */
import t from 'tap'
import { checkRule } from '../../src/systems/index.js'
import { connectFor } from '../servers.js'
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
