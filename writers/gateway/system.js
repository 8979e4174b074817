/**
 * One system in a gateway. Its admission and rejection cache begin with the first command, or when another process has stored the system,
 * so a gateway for feeds alone has one connection more and asks one key a second.
 */
import { systemKey } from '../../src/admission/index.js'
import { openAdmission } from '../../src/systems/inside.js'
import { eachSecond } from '../each-second.js'

/**
 * @param {any} settings @param {import('../../src/systems/inside.js').System} definition
 * @param {Omit<Parameters<typeof openAdmission>[2], 'durability' | 'onEntry'> &
 *   { durability: () => string, onEntry: () => Parameters<typeof openAdmission>[2]['onEntry'] }} parts as openAdmission
 */
export function openSystem (settings, definition, { durability, onEntry, ...parts }) {
  const { name: system, keepsSecret, isUncached } = definition
  const isCached = !isUncached && settings.rejectionCache !== 'no'
  /** @type {ReturnType<typeof openAdmission> | null} */
  let opened = null
  /** @type {Error | null} why it decides nothing: another process has a newer rule */
  let differs = null

  function open () {
    if (!keepsSecret) stopLooking()
    opened ??= openAdmission(definition, settings, { ...parts, durability: durability(), isCached, onEntry: onEntry() })
    return opened
  }

  /** @template T @param {Promise<T>} work @returns {Promise<T>} */
  const noted = (work) => work.catch((error) => {
    if (error.code === 'RULE_DIFFERS') differs = error
    throw error
  })

  async function look () {
    if (!opened && !await parts.routes.router.send('EXISTS', systemKey(settings.keyPrefix, system))) return
    const { agreed, refresh } = open()
    await noted(agreed())
    if (keepsSecret) await refresh()
  }

  const stopLooking = eachSecond(look, ({ code, message }) =>
    parts.log[keepsSecret ? 'warn' : 'debug']({ system, code, reason: message }, 'a system cannot be looked at'))

  return {
    /** Where it is, once all processes agree on it. */
    async target () {
      const { agreed, target } = open()
      await noted(agreed())
      return target
    },

    /** What the commands of a system need of its admission. @type {import('../../src/systems/inside.js').GatewayParts['admission']} */
    commands: {
      // certain rejections would come from memory
      submit: (command) => differs ? Promise.reject(differs) : noted(open().submit(command)),
      agreed: () => noted(open().agreed()),
      stateOf: (key) => noted(open().stateOf(key)),
      memberOf: (key, field) => noted(open().memberOf(key, field))
    },

    reasons: () => differs ? [`RULE_DIFFERS: ${differs.message}`] : [],

    async close () {
      stopLooking()
      await opened?.close()
    }
  }
}
