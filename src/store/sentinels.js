/**
 * The primary that Sentinels name: what slot-map.js is to a cluster, with one address, which is where the primary is now.
 *
 *     a link opens ──▶ all Sentinels are asked for the primary ──▶ the node is asked for its role ──▶ connected to
 *     a link fails ──▶ they are asked again, once a second         every 2 s ──▶ asked; another answer ends the links
 *                 └──▶ its replicas are asked for their roles ──▶ one was promoted ──▶ the Sentinels are asked at once
 *
 * A Sentinel may name a node that is no primary any more, or not yet, and one that was cut off knows less than the others. So the answer
 * of most counts first, and only a node that says that it is a primary is used. Sentinels name a new primary up to a second after it has
 * become one, but the one that promotes it lists it with the flag `promoted`, so that a node with this flag comes first, if it continues
 * the history of the primary before (sentinel-answers.js).
 *
 * @typedef {ReturnType<typeof createSentinelMap>} SentinelMap
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { sentinelAddress } from '../redis-url.js'
import { firstPromoted } from './promoted.js'
import { createRefusals } from './refused-answers.js'
import { primaryOf } from './sentinel-answers.js'
import { createWatchers } from './watchers.js'

const PERIOD_MS = 2000
/** between two requests of a process while the primary is away */
const AGAIN_MS = 1000
const PORT = '26379'

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
  /** of the primary @type {string[]} */
  let replicas = []
  const refusals = createRefusals()
  const known = createKnown()
  let isFound = false
  /** the last look that has not ended, and when it began @type {{ ended: Promise<void>, atMs: number } | null} */
  let finding = null
  /** of looks that began, and of the last one that found it */
  let [begun, latest] = [0, 0]
  /** @type {Promise<void> | null} */
  let findingAgain = null
  /** why it was not found last, and when */
  let failure = /** @type {{ error: unknown, atMs: number } | null} */ (null)
  const { watch, changed, watched } = createWatchers(() => { if (isFound) map.find().catch(() => {}) }, onUnused, PERIOD_MS)

  async function look () {
    const number = ++begun
    try {
      const found = await primaryOf({ name, sentinels, like, known: known.last, refusals })
      // one that began later knows more
      if (number < latest) return
      latest = number
      const isNew = found.url !== url || !isFound
      ;({ url, replicas } = found)
      known.see(found)
      isFound = true
      failure = null
      // also ends the waits of links
      if (isNew) changed()
    } catch (error) {
      failure = { error, atMs: performance.now() }
      throw error
    }
  }

  /** A look that waits for a frozen node does not keep this one from finding another. */
  async function lookNow () {
    const mine = { ended: look(), atMs: performance.now() }
    finding = mine
    await mine.ended.finally(() => { if (finding === mine) finding = null })
  }

  const isAway = () => !isFound && watched()

  async function findAgain () {
    while (isAway()) {
      map.locate().catch(() => {})
      await sleep(AGAIN_MS * (1 + Math.random() / 10), undefined, { ref: false })
    }
  }

  async function findPromoted () {
    if (await firstPromoted(replicas, { map, isAway }) === null) return
    // the answers to a look that has begun may be those of before
    if (isAway()) await lookNow().catch(() => {})
  }

  const map = {
    /** The address of the primary. */
    get seeds () { return [url] },
    refusals,
    isCluster: false,
    hasUntried: false,
    primaries: /** @type {string[]} */ ([]),
    has: () => true,
    replicasOf: () => /** @type {string[]} */ ([]),
    urlOf: () => url,

    /** Asks the Sentinels, also when the primary is known. */
    async find () {
      await (finding !== null && performance.now() - finding.atMs < AGAIN_MS ? finding.ended : lookNow())
    },
    /** Finds the primary, if it is not known, and asks at most once a second. @throws {import('../errors.js').FreshetError} as primaryOf */
    async locate () {
      if (isFound && watched()) return
      if (failure && performance.now() - failure.atMs < AGAIN_MS) throw failure.error
      let unwatch = () => {}
      const changes = new Promise((resolve) => { unwatch = watch(() => resolve(undefined)) })
      await Promise.race([map.find(), changes]).finally(unwatch)
    },
    /** A connection to it ended, or could not be opened. @param {string} failed */
    failed (failed) {
      if (failed !== url || !isFound) return
      isFound = false
      findingAgain ??= findAgain().finally(() => { findingAgain = null })
      findPromoted()
    },

    async learn () {},
    expectCluster () {},
    moved () {},
    refreshSoon () {},
    watch
  }
  return map
}

/** The primary as this process knew it last. */
function createKnown () {
  /** @type {import('./sentinel-answers.js').Known | null} */
  let last = null
  /** the newest offset, and since when that is known */
  let [newest, newestMs] = [0, -Infinity]

  return {
    get last () { return last },
    /**
     * A replica that is promoted may lack what the primary had in the last moments, so its offset of some seconds ago counts.
     * @param {{ url: string, facts: import('./nodes.js').ReplicationFacts }} found
     */
    see ({ url, facts: { id, offset } }) {
      const isSame = last?.id === id
      last = { url, id, offset: isSame && last ? last.offset : 0 }
      if (isSame && performance.now() - newestMs < PERIOD_MS) return
      if (isSame) last.offset = newest
      newest = offset
      newestMs = performance.now()
    }
  }
}
