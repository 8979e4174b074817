/**
 * Rules whose decisions are compared: one of a user through the library, and ours. Every command is accepted, over KEYS keys of one
 * partition: command n is one of key n % KEYS.
 *
 * @typedef {object} Subject
 * @property {(n: number) => Promise<{ code: string }>} submit
 * @property {(key: string) => Promise<number>} versionOf a key: commands that were accepted
 * @property {() => Promise<unknown>} close
 */
import { openSystem } from '../../../src/systems/index.js'
import { openEngine } from '../auctions/engine.js'

export const KEYS = 64
const CLOSES_AFTER_MS = 3_600_000
const DEADLINE_MS = 20_000
export const HALL = new URL('../../../examples/seats/hall.lua', import.meta.url)

/** @param {number} n */
export const keyOf = (n) => `k${n % KEYS}`

/** @typedef {{ redisUrl: string, keyPrefix: string }} Target */

/**
 * @param {Target} target @param {string} rule @param {Commands} args
 * @returns {Promise<Subject>}
 */
async function ours (target, rule, { create, command }) {
  const { submit, versionOf, close } = await openEngine({ ...target, batches: true, hasCache: false, rule })
  const send = (/** @type {number} */ n, /** @type {string} */ requestId, /** @type {string[]} */ args) =>
    submit({ rule, key: keyOf(n), scope: 'u', requestId, args })
  const closeAt = String(Date.now() + CLOSES_AFTER_MS)
  for (let n = 0; n < KEYS; n++) await send(n, `c${n}`, create(closeAt))
  return {
    submit: (n) => send(n, `r${n}`, command(n)),
    versionOf,
    close
  }
}

/**
 * What is created, and what command n is, all of them accepted.
 * @typedef {{ create: (closeAt: string) => string[], command: (n: number) => string[] }} Commands
 */

/** @satisfies {Readonly<Record<string, Commands>>} */
export const COMMANDS = Object.freeze({
  max: {
    create: (closeAt) => ['create', '1', '1', '0', closeAt, '0', '0', '', '', 'EUR'],
    command: (n) => ['bid', `u${n}`, String(KEYS + n), '']
  },
  bounded: {
    create: (closeAt) => ['create', '1000000', '1', '0', closeAt, '60000', 'direct', '1', '0'],
    command: (n) => ['claim', `u${n}`, '1', `c${n}`, 'sold', 'direct']
  },
  // a seat of each hall is held, released, and so on
  hall: {
    create: () => ['create', '26', '99'],
    command: (n) => [Math.floor(n / KEYS) % 2 ? 'release' : 'hold', 'B-7', 'ann']
  }
})

/** @type {Readonly<Record<string, (target: Target) => Promise<Subject>>>} */
export const SUBJECTS = Object.freeze({
  max: (target) => ours(target, 'max', COMMANDS.max),
  bounded: (target) => ours(target, 'bounded', COMMANDS.bounded),

  async seat (target) {
    const options = { ...target, partitions: 1, deadlineMs: DEADLINE_MS }
    const system = await openSystem({ name: 'seats', rules: { hall: { lua: HALL } } }, options)
    for (let n = 0; n < KEYS; n++) await system.submit({ rule: 'hall', key: keyOf(n), args: COMMANDS.hall.create() })
    return {
      submit: (n) => system.submit({ rule: 'hall', key: keyOf(n), requestId: `r${n}`, args: COMMANDS.hall.command(n) }),
      versionOf: async (key) => (await system.get(key))?.version ?? 0,
      close: system.close
    }
  },

  /** Decides nothing. */
  noop: async () => ({ submit: async () => ({ code: 'accepted' }), versionOf: async () => 0, close: async () => {} })
})

export const TECHNIQUES = Object.freeze(Object.keys(SUBJECTS))
