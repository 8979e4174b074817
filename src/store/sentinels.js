/**
 * The primary that Sentinels name: what slot-map.js is to a cluster, with one address, which is where the primary is now.
 *
 *     a link opens ──▶ all Sentinels are asked for the primary ──▶ the node is asked for its role ──▶ connected to
 *     a link fails ──▶ they are asked again                        every 2 s ──▶ asked; another answer ends the links
 *
 * A Sentinel may name a node that is no primary any more, or not yet, and one that was cut off knows less than the others. So the answer
 * of most counts first, and only a node that says that it is a primary is used.
 *
 * @typedef {ReturnType<typeof createSentinelMap>} SentinelMap
 */
import { FreshetError } from '../errors.js'
import { sentinelAddress } from '../redis-url.js'
import { openConnection } from './connection.js'
import { urlAt } from './tls.js'
import { createWatchers } from './watchers.js'

const PERIOD_MS = 2000
const DEADLINE_MS = 500
const PORT = '26379'
const NAME = 'freshet-sentinels'

/** @param {string} redisUrl */
export const isOfSentinels = (redisUrl) => sentinelAddress(redisUrl) !== null

/** @param {string} redisUrl */
const addressOf = (redisUrl) => /** @type {NonNullable<ReturnType<typeof sentinelAddress>>} */ (sentinelAddress(redisUrl))

/** Without secrets. @param {string} redisUrl */
export function shownSentinels (redisUrl) {
  const { name, hosts } = addressOf(redisUrl)
  return `primary ${name} of the Sentinels ${hosts.join(', ')}`
}

/** @param {string} redisUrl */
function readUrl (redisUrl) {
  const { name, sentinels, servers } = addressOf(redisUrl)
  return { name, sentinels: sentinels.map(withPort), like: new URL(servers[0]).href }
}

/** @param {string} sentinel */
function withPort (sentinel) {
  const url = new URL(sentinel)
  url.port ||= PORT
  return url.href
}

/** @param {string} redisUrl src/redis-url.js @param {() => void} onUnused */
export function createSentinelMap (redisUrl, onUnused) {
  const { name, sentinels, like } = readUrl(redisUrl)
  // until the primary is found, messages name a Sentinel
  let url = sentinels[0]
  let isFound = false
  /** @type {Promise<void> | null} */
  let finding = null
  const { watch, changed, watched } = createWatchers(() => map.find().catch(() => {}), onUnused, PERIOD_MS)

  async function look () {
    const next = await primaryOf({ name, sentinels, like })
    const isOther = next !== url
    url = next
    isFound = true
    if (isOther) changed()
  }

  const map = {
    /** The address of the primary. */
    get seeds () { return [url] },
    isCluster: false,
    hasUntried: false,
    primaries: /** @type {string[]} */ ([]),
    has: () => true,
    urlOf: () => url,

    /** Asks the Sentinels, also when the primary is known. */
    async find () {
      finding ??= look().finally(() => { finding = null })
      await finding
    },
    /** Finds the primary, if it is not known. @throws {FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED */
    async locate () { if (!isFound || !watched()) await map.find() },
    /** A connection to it ended, or could not be opened. @param {string} failed */
    failed (failed) { if (failed === url) isFound = false },

    async learn () {},
    expectCluster () {},
    moved () {},
    refreshSoon () {},
    watch
  }
  return map
}

/** @param {ReturnType<typeof readUrl>} where @returns {Promise<string>} URL @throws {FreshetError} as SentinelMap.locate */
async function primaryOf ({ name, sentinels, like }) {
  const answers = await Promise.allSettled(sentinels.map((sentinel) => ask(sentinel, name)))
  const failures = answers.flatMap((answer) => answer.status === 'rejected' ? [answer.reason] : [])
  const named = answers.flatMap((answer) => answer.status === 'fulfilled' ? [urlAt(like, ...answer.value)] : [])
  if (named.length === 0) throw failures.find(({ retryable }) => !retryable) ?? failures[0]
  const votes = (/** @type {string} */ url) => named.filter((one) => one === url).length
  const candidates = [...new Set(named)].sort((a, b) => votes(b) - votes(a))
  const roles = await Promise.allSettled(candidates.map(expectPrimary))
  const found = candidates.find((_, i) => roles[i].status === 'fulfilled')
  if (found === undefined) throw /** @type {PromiseRejectedResult} */ (roles[0]).reason
  return found
}

/** @param {string} sentinel URL @param {string} name @returns {Promise<[host: string, port: string]>} */
async function ask (sentinel, name) {
  const connection = await openConnection(sentinel, { name: NAME, deadlineMs: DEADLINE_MS, isChecked: false })
  const { address } = connection
  try {
    const found = await connection.send('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name)
    if (Array.isArray(found)) return [String(found[0]), String(found[1])]
    // each is a list of fields and values that begins with the name
    const names = (await connection.send('SENTINEL', 'MASTERS')).map((/** @type {any[]} */ [, value]) => String(value))
    throw new FreshetError('SERVER_REFUSED', `the Sentinel at ${address} watches no primary named ${name}; it watches ` +
      `${names.join(', ') || 'none'}. Put the name behind the hosts: redis+sentinel://${address}/${names[0] ?? 'NAME'}`)
  } catch (error) {
    if (!/unknown command/i.test(error.message)) throw error
    throw new FreshetError('SERVER_REFUSED', `the server at ${address} is not a Sentinel; for a server itself use redis://${address}`)
  } finally {
    connection.close()
  }
}

/** @param {string} url @throws {FreshetError} */
async function expectPrimary (url) {
  const connection = await openConnection(url, { name: NAME, deadlineMs: DEADLINE_MS, isChecked: false })
  try {
    const [role] = await connection.send('ROLE')
    if (String(role) === 'master') return
    throw new FreshetError('SERVER_UNREACHABLE', `the server at ${connection.address}, which the Sentinels name, is a replica`)
  } finally {
    connection.close()
  }
}
