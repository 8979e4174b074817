/**
 * Queries of a system in a program: what a reader has of it, without its HTTP server. Keys are in memory, and the outbox keeps them
 * current. Connections are opened by the first call, and again after a failure.
 *
 * @import { System } from './definition.js'
 * @import { OpenedQueries, QueryParts } from './opened-types.js'
 * @import { Primaries, Servers } from '../store/index.js'
 */
import { maskWith, memoryOf, oursIn, readSystem } from '../admission/index.js'
import { FreshetError } from '../errors.js'
import { createServers } from '../store/index.js'
import { checkedDefinition } from './checked-definition.js'
import { openDefinition, openReading } from './opening.js'
import { checkedOptions } from './options.js'

/**
 * Metrics of the library, which counts in `account` only.
 *
 * @import { AdmissionMetrics } from '../metrics/index.js'
 * @import { ConsumerMetrics } from './frame.js'
 */

/** @type {Readonly<AdmissionMetrics & ConsumerMetrics>} */
export const UNCOUNTED = Object.freeze({
  sent () {},
  waited () {},
  dropped () {},
  answered () {},
  asked () {},
  ruleFailed () {},
  clockBack () {},
  finished () {},
  failed () {},
  deadLettered () {}
})

const OPTIONS = Object.freeze(['redisUrl', 'keyPrefix', 'deadlineMs'])
const NO_KEY = 'KEY_UNKNOWN'
let openings = 0

/**
 * @param {System} definition @param {any} options
 * @returns {OpenedQueries}
 * @throws {FreshetError} SETTINGS_INVALID
 */
export function openOwnQueries (definition, options) {
  const settings = checkedOptions(options, {}, OPTIONS)
  const name = `freshet-${process.pid}-queries-${++openings}`
  const closing = new AbortController()
  /** @type {{ servers: Servers, routes: Primaries } | null} */
  let connected = null
  /** @type {ReturnType<typeof open> | null} */
  let opening = null

  function connect () {
    const { redisUrl, deadlineMs, log } = settings
    const servers = createServers({ redisUrl, isReading: false, isAsked: false, name, deadlineMs, log })
    return { servers, routes: servers.primaries({ name, deadlineMs }) }
  }

  async function open () {
    const checked = await checkedDefinition(definition)
    const { servers, routes } = connected ??= connect()
    await routes.opened.catch(() => {})
    return openOn(definition, checked, { servers, routes, name, settings, signal: closing.signal })
  }

  return {
    opened () {
      if (closing.signal.aborted) throw new FreshetError('PIPELINE_CLOSED', `the queries of ${definition.name} are closed; open them again`)
      opening ??= open()
      opening.catch(() => { opening = null })
      return opening
    },
    async close () {
      closing.abort()
      await (await opening?.catch(() => null))?.close()
      await connected?.routes.close()
      await connected?.servers.close()
    }
  }
}

/**
 * @param {System} definition @param {Awaited<ReturnType<typeof checkedDefinition>>} checked
 * @param {{ servers: Servers, routes: Primaries, name: string, settings: any, signal: AbortSignal }} options
 */
async function openOn ({ unknown = NO_KEY, memory, reader }, { name: system, rules }, { servers, routes, name, settings, signal }) {
  const { keyPrefix, log } = settings
  const stored = await readSystem(routes.router, { keyPrefix, system })
  if (stored === null) throw new FreshetError(unknown, `nothing of ${system} is stored on this server yet; create it first`)
  const ours = oursIn(rules)
  // it stores no versions of rules of Freshet
  const opening = openDefinition({ name: system, rules: ours ? {} : rules }, { ...settings, systemPartitions: stored.partitions },
    { servers, routes, name, metrics: UNCOUNTED, log })
  await opening.agreed()
  const { certain, ...ruleMemory } = ours?.memory ?? memoryOf(rules)
  /** @type {any} */
  let systemReader = {}
  const { view, reading, ...opened } = openReading(opening.open().target, {
    unknown,
    memory: { ...memory, rules: { certain, ...ruleMemory } },
    streams: servers.primaryStreams,
    onEntry: (entry) => systemReader.onEntry?.(entry),
    log
  })
  const { secret } = stored
  /** @type {any} */
  const more = { submit: opening.submit, mask: maskWith(secret), secret, now: Date.now, signal, log }
  /** @type {QueryParts} */
  const parts = { ...opened, ...more }
  systemReader = await reader?.(parts) ?? systemReader
  return {
    own: systemReader.queries,
    parts,
    async close () {
      await systemReader.close?.()
      reading.close()
      await view.close()
      await opening.close()
    }
  }
}
