/**
 * Checks a rule on a server, by commands at random: whether its `fold` and `certain` agree with its Lua.
 *
 *     each run has a key of its own:  certain? ─▶ submit ─▶ state and events ─▶ fold(events) = state?
 *     at its end:                     what was certainly rejected is sent again, and must be rejected again
 *
 * It also names the patterns of the rule that are refused on long texts.
 *
 * @import { Primaries } from '../store/index.js'
 * @import { Rule } from './definition.js'
 * @import { CheckOptions, Checked, OpenedSystem, Stored } from './opened-types.js'
 */
import { randomBytes } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { admissionKey, deleteLibraries, KEPT_PARTS, memoryOf, OWN_NAMES, ownerOf, patternsIn, systemKey } from '../admission/index.js'
import { FreshetError, SettingsInvalid } from '../errors.js'
import { createServers } from '../store/index.js'
import { checkedDefinition } from './checked-definition.js'
import { open } from './opened.js'
import { checkedOptions, loggerOf } from './options.js'

const RULE = 'rule'
const COMMANDS_PER_RUN = 20
const MAX_REPEATED = 10
const RUNS_AT_ONCE = 16
/** The longest text that a rule can make in one call. */
const LONGEST_BYTES = 1024 * 1024

/** mulberry32 @param {number} seed @returns {() => number} 0 <= n < 1 */
function randomFrom (seed) {
  let a = seed >>> 0
  return () => {
    a = (a + 0x6D2B79F5) | 0
    let t = Math.imul(a ^ (a >>> 15), 1 | a)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * @param {Rule} rule
 * @param {CheckOptions} options
 * @returns {Promise<Checked>}
 * @throws {FreshetError} RULE_INCONSISTENT, RULE_FAILED, and as openSystem
 */
export async function checkRule (rule, { commands, runs = 100, seed = randomBytes(4).readUInt32LE(), ...options }) {
  if (typeof commands !== 'function') {
    throw new SettingsInvalid([`commands: a value of type ${typeof commands}; expected a function (random) => args`])
  }
  const name = `check-${randomBytes(6).toString('hex')}`
  const definition = await checkedDefinition({ name, rules: { [RULE]: rule } })
  const settings = checkedOptions({ ...options, partitions: 1 }, definition)
  process.stdout.write(`checkRule: seed ${seed}\n`)
  const random = randomFrom(seed)
  const all = Array.from({ length: runs }, (_, i) => ({
    key: `run-${i + 1}`, list: Array.from({ length: COMMANDS_PER_RUN }, () => commands(random).map(String))
  }))
  // rejections that are certain must be those of the server
  const { [RULE]: { certain: _, ...uncached } } = definition.rules
  const system = await open({ ...definition, rules: { [RULE]: uncached } }, settings)
  const checked = /** @type {Checked} */ ({ seed, runs, commands: 0, accepted: 0 })
  try {
    const patterns = await refusedPatterns(settings, name, definition.rules[RULE].text)
    if (patterns.length > 0) checked.patterns = patterns
    for (const { pattern, refusedFromBytes } of patterns) {
      process.stdout.write(`checkRule: the pattern '${pattern}' is refused on texts of ${refusedFromBytes} bytes or more\n`)
    }
    for (let i = 0; i < all.length; i += RUNS_AT_ONCE) {
      await Promise.all(all.slice(i, i + RUNS_AT_ONCE).map(async ({ key, list }) => {
        const done = /** @type {string[][]} */ ([])
        await checkRun(system, { key, list, done, memory: memoryOf(definition.rules), checked }).catch((error) => {
          throw new FreshetError(error.code ?? 'RULE_INCONSISTENT', `${error.message} (seed ${seed}, after the commands ` +
            `${done.map((args) => args.join(' ')).join('; ')})`, { seed, cause: error })
        })
      }))
    }
    return checked
  } finally {
    await system.close()
    await removeKeys(settings, name, all.map(({ key }) => key))
  }
}

/**
 * @param {OpenedSystem} system
 * @param {{ key: string, list: string[][], done: string[][], memory: ReturnType<typeof memoryOf>,
 *   checked: { commands: number, accepted: number } }} run `done`: the commands so far
 */
async function checkRun (system, { key, list, done, memory, checked }) {
  const fold = Object.hasOwn(memory.folds, RULE) ? memory.folds[RULE] : null
  const certain = memory.certain[RULE] ?? (() => null)
  const rejected = /** @type {Map<string, { args: string[], code: string }>} */ (new Map())
  let before = { state: {}, seq: 0, version: 0, generation: '' }
  /** @param {string[]} args @param {string} [code] */
  async function submit (args, code) {
    done.push(args)
    checked.commands++
    const decision = await system.submit({ rule: RULE, key, args })
    if (code !== undefined && (decision.accepted || decision.code !== code)) {
      throw inconsistent(`certain rejects ${args.join(' ')} with ${code}, and the Lua answers ${decision.code}` +
        `${decision.accepted ? ', accepted' : ''}`)
    }
    return decision
  }
  for (const args of list) {
    const code = certain(withNames(before), args)?.code
    const decision = await submit(args, code)
    if (code !== undefined) rejected.set(args.join('\0'), { args, code })
    if (!decision.accepted) continue
    checked.accepted++
    const stored = /** @type {Stored} */ (await system.get(key))
    if (fold) await expectFolded(system, { key, fold, before, stored, args })
    if (before.generation !== '' && stored.generation !== before.generation) rejected.clear()
    before = stored
  }
  for (const { args, code } of [...rejected.values()].slice(0, MAX_REPEATED)) await submit(args, code)
}

/** @param {{ state: Record<string, string>, seq: number, version: number }} stored */
const withNames = ({ state, seq, version }) => ({ ...state, [OWN_NAMES.seq]: String(seq), [OWN_NAMES.version]: String(version) })

/**
 * @param {OpenedSystem} system
 * @param {{ key: string, fold: (state: Record<string, string>, event: any) => boolean, args: string[],
 *   stored: Stored, before: { state: Record<string, string>, seq: number, version: number } }} parts
 */
async function expectFolded (system, { key, fold, before, stored, args }) {
  const fields = withNames(before)
  if (stored.seq > before.seq) {
    for await (const event of system.follow(key, { after: before.seq })) {
      if (!fold(fields, { ...event, seq: String(event.seq), version: String(stored.version) })) {
        throw inconsistent(`fold throws, or returns no state, for the event ${event.type} of ${args.join(' ')}`)
      }
      if (event.seq >= stored.seq) break
    }
  }
  const { [OWN_NAMES.seq]: _, [OWN_NAMES.version]: __, ...folded } = fields
  if (!isDeepStrictEqual(folded, stored.state)) {
    throw inconsistent(`after ${args.join(' ')} fold has ${JSON.stringify(folded)}, and the server ${JSON.stringify(stored.state)}`)
  }
}

/** @param {string} message */
const inconsistent = (message) => new FreshetError('RULE_INCONSISTENT', message)

/** @typedef {{ redisUrl: string, keyPrefix: string, deadlineMs: number }} Target */

/** @template T @param {Target} target @param {string} system @param {(routes: Primaries) => Promise<T>} run @returns {Promise<T>} */
async function withRoutes ({ redisUrl, deadlineMs }, system, run) {
  const parts = { name: `freshet-${process.pid}-${system}`, deadlineMs }
  const servers = createServers({ redisUrl, isReading: false, isAsked: false, ...parts, log: loggerOf(null) })
  const routes = servers.primaries(parts)
  try {
    await routes.opened
    return await run(routes)
  } finally {
    await routes.close()
    await servers.close()
  }
}

/** @param {Target} target @param {string} system @param {string} text of the rule */
async function refusedPatterns (target, system, text) {
  const patterns = patternsIn(text)
  if (patterns.length === 0) return []
  const limits = await withRoutes(target, system, ({ connections: [connection] }) => connection.runScript('pattern-limits', [], patterns))
  return patterns.map((pattern, i) => ({ pattern, refusedFromBytes: Number(limits[i]) + 1 }))
    .filter(({ refusedFromBytes }) => refusedFromBytes <= LONGEST_BYTES)
}

/** @param {Target} target @param {string} system @param {string[]} keys */
async function removeKeys (target, system, keys) {
  const part = admissionKey(target.keyPrefix, system, 0)
  const namesOfKeys = keys.flatMap((key) => ['state', 'events', ...KEPT_PARTS].map((kind) => `${kind}:${key}`))
  const names = ['outbox', 'tasks', 'generation', ...namesOfKeys].map(part)
  const whole = systemKey(target.keyPrefix, system)
  await withRoutes(target, system, async ({ router, connections }) => {
    await Promise.all([whole, `${whole}:rules`, ...names].map((name) => router.send('UNLINK', name)))
    await Promise.all(connections.map((connection) => deleteLibraries(connection, ownerOf(target.keyPrefix, system))))
  })
}
