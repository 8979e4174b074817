/**
 * One system in a gateway: its admission, rejection cache, and their connections. They begin with the first command, or when another
 * process has stored the system, so a gateway for feeds alone has one connection more and asks one key a second.
 */
import { createAdmission, createAgreement, createRejections, openConfirms, systemKey } from '../../src/admission/index.js'
import { partitionOf } from '../../src/item/index.js'
import { openerOf } from '../../src/store/index.js'
import { eachSecond } from '../each-second.js'

/**
 * @typedef {import('../../src/systems/inside.js').System} System
 * @typedef {object} Parts
 * @property {import('../../src/store/index.js').Routes} routes to the primaries, for commands
 * @property {string} primaryUrl @property {string} name of connections
 * @property {() => string} durability
 * @property {import('../../src/admission/index.js').KeepSecret} [keepSecret]
 * @property {(entry: import('../../src/admission/index.js').Entry) => void} onEntry @property {() => boolean} hasEntries whether it is
 *   needed
 * @property {import('../../src/metrics/index.js').AdmissionMetrics} metrics
 * @property {import('pino').Logger} log
 */

/** @typedef {ReturnType<typeof openSystem>} OpenSystem */

/** @param {any} settings @param {System} definition @param {Parts} parts */
export function openSystem (settings, definition, parts) {
  const { routes } = parts
  const { name: system, keepsSecret } = definition
  const key = systemKey(settings.keyPrefix, system)
  /** @type {ReturnType<typeof openAdmission> | null} */
  let opened = null
  const open = () => {
    if (!keepsSecret) stopLooking()
    opened ??= openAdmission(settings, definition, parts)
    return opened.admission
  }
  async function look () {
    if (!opened && !await routes.router.send('EXISTS', key)) return
    const { refresh } = open()
    if (keepsSecret) await refresh()
  }
  const stopLooking = eachSecond(look, ({ code, message }) =>
    parts.log[keepsSecret ? 'warn' : 'debug']({ system, code, reason: message }, 'a system cannot be looked at'))

  return {
    open,

    /** What the commands of a system need of its admission. @type {import('../../src/systems/inside.js').GatewayParts['admission']} */
    commands: {
      submit: (command) => open().submit(command),
      agreed: () => open().agreed(),
      stateOf: (key) => open().stateOf(key),
      memberOf: (key, field) => open().memberOf(key, field)
    },

    async close () {
      stopLooking()
      await opened?.close()
    }
  }
}

/** @param {any} settings @param {System} definition @param {Parts} parts */
function openAdmission (settings, { name: system, isUncached, keepsUnread: isRead }, parts) {
  const { routes, primaryUrl, name, durability, keepSecret, onEntry, hasEntries, metrics, log } = parts
  const { keyPrefix, deadlineMs, requestMs, keepMs, maxOutbox, systemPartitions: partitions, ackWithinMs } = settings
  const agreement = createAgreement({ router: routes.router, keyPrefix, system, partitions, keepSecret })
  const { agreed, keyOf } = agreement
  const connectionOf = (/** @type {number} */ partition) => routes.route(keyOf(partition)('')).connection
  const confirms = openConfirms({
    primaryUrl, name: `${name}:${system}:confirm`, keyOf, durability: durability(), deadlineMs, waitMs: ackWithinMs
  })
  const isCached = !isUncached && settings.rejectionCache !== 'no'
  const rejections = isCached || hasEntries()
    ? createRejections({
      ...openerOf(primaryUrl, { name: `${name}:${system}:outbox`, deadlineMs }),
      connectionOf,
      agreed,
      keyOf,
      partitionOf: (key) => partitionOf(Buffer.from(key), partitions),
      partitions,
      requestMs,
      onEntry,
      log,
      metrics
    })
    : undefined
  const admission = createAdmission({
    route: routes.route,
    keyPrefix,
    system,
    partitions,
    requestMs,
    keepMs,
    maxOutbox,
    isRead,
    deadlineMs,
    batches: settings.batches !== 'no',
    rejections: isCached ? rejections : undefined,
    confirmOf: confirms?.of,
    agreement,
    metrics
  })
  return {
    admission,
    async close () {
      await Promise.all([rejections?.close(), confirms?.close()])
    }
  }
}
