/** Systems of users for tests: a rule of seats, and what opens it. */
import { openSystem } from '../../src/systems/index.js'

/** The rule of the specification, with a few ways to fail. */
export const SEAT = `return function (state, args, now)
  if args[1] == 'hold' then
    if state.holder then return 'taken', { holder = state.holder } end
    state.holder = args[2]
    return 'held', { holder = args[2] }, {
      events = { { type = 'held', holder = args[2], ['until'] = now + 120000 } },
      tasks = { ['expire:1'] = now + 120000 }
    }
  elseif args[1] == 'expire:1' then
    state.holder = nil
    return 'expired', {}, { events = { { type = 'expired' } } }
  elseif args[1] == 'note' then
    state.note = args[2]
    return 'noted', {}, {}
  end
  return 'unknown_command', {}
end`

/**
 * A system of seats that closes with the test.
 * @param {import('tap').Test} t @param {{ redisUrl: string, keyPrefix: string } & Record<string, any>} options
 * @param {Record<string, any>} [definition] `lua` and other parts of the rule, and parts of the system
 */
export async function openSeats (t, options, {
  lua = SEAT, name = 'seats', version, fold, certain, keepEvents, keeps, maxArgBytes, ...rest
} = {}) {
  const system = await openSystem({ name, rules: { seat: { lua, version, fold, certain, keepEvents, keeps, maxArgBytes } }, ...rest },
    { deadlineMs: 10_000, ...options })
  t.teardown(() => system.close())
  let requests = 0
  return {
    system,
    /** A decision of its code alone, or the code of its error. @param {string} key @param {string[]} args */
    code: (key, ...args) => system.submit({ rule: 'seat', key, args }).then(({ code }) => code, (error) => error.code),
    /** @param {string} key @param {string[]} args */
    submit: (key, ...args) => system.submit({ rule: 'seat', key, args }),
    /** With a request id of its own. @param {string} key @param {string[]} args */
    once: (key, ...args) => system.submit({ rule: 'seat', key, args, requestId: `r-${++requests}` })
  }
}

/** A rule whose function has this body. @param {string} body */
export const ruleOf = (body) => `return function (state, args, now, read)\n${body}\nend`
