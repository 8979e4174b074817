/**
 * One system in a gateway. Its admission and rejection cache begin with the first command, or when another process has stored the system,
 * so a gateway for feeds alone has one connection more and asks one key a second. A system with Lua begins at once.
 */
import { systemKey } from '../../src/admission/index.js'
import { openDefinition } from '../../src/systems/inside.js'
import { eachSecond } from '../each-second.js'

/**
 * @param {any} settings @param {import('../../src/systems/inside.js').Definition} definition
 * @param {Parameters<typeof openDefinition>[2] & { routes: import('../../src/store/index.js').Primaries }} parts as openDefinition
 */
export function openSystem (settings, definition, parts) {
  const { name: system, hasLua, keepsSecret, isUncached } = definition
  const { routes, log } = parts
  const isCached = !isUncached && settings.rejectionCache !== 'no'
  const opening = openDefinition(definition, settings, { ...parts, isCached })

  async function agreed () {
    const stored = await opening.agreed()
    if (!keepsSecret) stopLooking()
    return stored
  }

  async function look () {
    if (!opening.isOpen && !await routes.router.send('EXISTS', systemKey(settings.keyPrefix, system))) return
    await agreed()
    if (keepsSecret) await opening.refresh()
  }

  const stopLooking = eachSecond(look, ({ code, message }) =>
    log[keepsSecret ? 'warn' : 'debug']({ system, code, reason: message }, 'a system cannot be looked at'))

  // a rule of a user that differs is known before the first command
  if (hasLua) agreed().catch(() => {})

  const { submit, stateOf, memberOf, mask, reasons, notes } = opening
  return {
    /** Where it is, once all processes agree on it. */
    async target () {
      await agreed()
      return opening.open().target
    },

    /** What the commands of a system need of its admission. */
    commands: { submit, agreed, stateOf, memberOf, mask },

    reasons,
    notes,

    async close () {
      stopLooking()
      await opening.close()
    }
  }
}
