/**
 * One system in a gateway: its admission, rejection cache, and their connections. They begin with the first command, or when another
 * process has stored the system, so a gateway for feeds alone has one connection more and asks one key a second.
 */
import { createAgreement, systemKey } from '../../src/admission/index.js'
import { openAdmission } from '../../src/systems/inside.js'
import { eachSecond } from '../each-second.js'
import { admissionSettings } from '../system-settings.js'

/**
 * @typedef {import('../../src/systems/inside.js').System} System
 * @typedef {object} Parts
 * @property {import('../../src/store/index.js').Routes} routes to the primaries, for commands
 * @property {string} primaryUrl @property {string} name of connections
 * @property {() => string} durability
 * @property {import('../../src/admission/index.js').KeepSecret} [keepSecret]
 * @property {() => ((entry: import('../../src/admission/index.js').Entry) => void) | undefined} onEntry what gets every event, if anything
 * @property {import('../../src/metrics/index.js').AdmissionMetrics} metrics
 * @property {import('pino').Logger} log
 */

/** @typedef {ReturnType<typeof openSystem>} OpenSystem */

/** @param {any} settings @param {System} definition @param {Parts} parts */
export function openSystem (settings, { name: system, rules, isUncached, keepsSecret, keepsUnread: isRead }, parts) {
  const { routes, primaryUrl, name, durability, keepSecret, onEntry, metrics, log } = parts
  const options = { ...admissionSettings(settings), maxOutbox: settings.maxOutbox }
  const { keyPrefix, partitions } = options
  const agreement = createAgreement({ router: routes.router, keyPrefix, system, partitions, rules, keepSecret })
  const connectionOf = (/** @type {number} */ partition) => routes.route(agreement.keyOf(partition)('')).connection
  /** @type {ReturnType<typeof openAdmission> | null} */
  let opened = null
  /** @type {Error | null} why it decides nothing: another process has a newer rule */
  let differs = null
  function open () {
    if (!keepsSecret) stopLooking()
    opened ??= openAdmission(system, options, {
      agreement,
      routes,
      primaryUrl,
      name: `${name}:${system}`,
      connectionOf,
      durability: durability(),
      isRead,
      isCached: !isUncached && settings.rejectionCache !== 'no',
      onEntry: onEntry(),
      metrics,
      log
    })
    return opened
  }
  async function look () {
    if (!opened && !await routes.router.send('EXISTS', systemKey(keyPrefix, system))) return
    open()
    await noted(agreement.agreed())
    if (keepsSecret) await agreement.refresh()
  }
  /** @template T @param {Promise<T>} work @returns {Promise<T>} */
  const noted = (work) => work.catch((error) => {
    if (error.code === 'RULE_DIFFERS') differs = error
    throw error
  })

  const stopLooking = eachSecond(look, ({ code, message }) =>
    log[keepsSecret ? 'warn' : 'debug']({ system, code, reason: message }, 'a system cannot be looked at'))

  return {
    /** Where it is, once all processes agree on it. */
    async target () {
      open()
      await noted(agreement.agreed())
      return { keyOf: agreement.keyOf, connectionOf, partitions }
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
