/**
 * One system in a gateway. Its admission and rejection cache begin with the first command, or when another process has stored the system,
 * so a gateway for feeds alone has one connection more and asks one key a second. A system of a user begins at once.
 */
import { publicReason } from '../../src/errors.js'
import { maskWith, systemKey } from '../../src/admission/index.js'
import { openAdmission } from '../../src/systems/inside.js'
import { eachSecond } from '../each-second.js'

/** @typedef {Parameters<typeof openAdmission>[2]} Parts */
/** @typedef {ReturnType<typeof openAdmission>} Opened */
/** @typedef {import('../../src/errors.js').FreshetError} FreshetError */

/** A command of no user, which is not stored for replays. */
const UNASKED = Object.freeze({ scope: '', requestId: '' })

/** What differs from other processes is said in full; other messages may name servers and users. @param {FreshetError} error */
const reasonOf = (error) => /^(RULE|SYSTEM)_/.test(error.code) ? `${error.code}: ${error.message}` : publicReason(error)

/**
 * @param {any} settings @param {import('../../src/systems/inside.js').Definition} definition
 * @param {Omit<Parts, 'durability' | 'onEntry'> & { routes: import('../../src/store/index.js').Primaries, durability: () => string,
 *   onEntry: () => Parts['onEntry'] }} parts as openAdmission
 */
export function openSystem (settings, definition, { routes, durability, onEntry, ...parts }) {
  const { name: system, hasLua, keepsSecret, isUncached } = definition
  const isCached = !isUncached && settings.rejectionCache !== 'no'
  /** @type {Opened | null} */
  let opened = null
  /** @type {import('../../src/admission/index.js').Mask | null} */
  let mask = null
  /** why it decides nothing more: another process has a newer rule @type {FreshetError | null} */
  let differs = null
  /** why processes do not agree on it, if that will not pass by itself @type {FreshetError | null} */
  let failure = null

  const open = () => (opened ??=
    openAdmission(definition, settings, { ...parts, routes, durability: durability(), isCached, onEntry: onEntry() }))

  /** @template T @param {Promise<T>} work @returns {Promise<T>} */
  const noted = (work) => work.catch((error) => {
    if (error.code === 'RULE_DIFFERS') differs = error
    throw error
  })

  async function agreed () {
    try {
      const stored = await open().agreed()
      failure = null
      if (!keepsSecret) stopLooking()
      return stored
    } catch (error) {
      failure = error.retryable ? null : error
      throw error
    }
  }

  /** Certain rejections would come from memory. */
  const isOlder = () => differs ?? (failure?.code === 'RULE_DIFFERS' ? failure : null)

  async function look () {
    if (!opened && !await routes.router.send('EXISTS', systemKey(settings.keyPrefix, system))) return
    await agreed()
    if (keepsSecret) await open().refresh()
  }

  const stopLooking = eachSecond(look, ({ code, message }) =>
    parts.log[keepsSecret ? 'warn' : 'debug']({ system, code, reason: message }, 'a system cannot be looked at'))

  // a rule of a user that differs is known before the first command
  if (hasLua) agreed().catch(() => {})

  return {
    /** Where it is, once all processes agree on it. */
    async target () {
      await agreed()
      return open().target
    },

    /** What the commands of a system need of its admission. */
    commands: {
      /** @param {Parameters<Opened['submit']>[0]} command */
      submit: (command) => isOlder() ? Promise.reject(isOlder()) : noted(open().submit({ ...UNASKED, ...command })),
      agreed,
      /** @param {string} id */
      mask: async (id) => (mask ??= maskWith((await agreed()).secret))(id),
      /** @param {string} key */
      stateOf: (key) => noted(open().stateOf(key)),
      /** @param {string} key @param {string} field */
      memberOf: (key, field) => noted(open().memberOf(key, field))
    },

    reasons: () => [...new Set([differs, failure])].flatMap((error) => error ? [reasonOf(error)] : []),

    notes: () => opened?.notes() ?? [],

    async close () {
      stopLooking()
      await opened?.close()
    }
  }
}
