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
 * the history of the primary before.
 *
 * @typedef {ReturnType<typeof createSentinelMap>} SentinelMap
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { sentinelAddress } from '../redis-url.js'
import { openConnection } from './connection.js'
import { namedAddress } from './named-address.js'
import { continues, replicationFacts, usableRows } from './nodes.js'
import { firstPromoted } from './promoted.js'
import { createRefusals } from './refused-answers.js'
import { urlAt } from './tls.js'
import { createWatchers } from './watchers.js'

/**
 * What Sentinels answer: the primary of a name, its replicas, and which of them a failover promotes. Of the nodes that they name, one is
 * used that says itself that it is a primary, and that has the data of the primary before.
 *
 * One Sentinel may be wrong: misconfigured, taken over, or cut off. So a node is used when most Sentinels name it as the primary, or when
 * its replication history continues the one that this process knows: a promoted replica does, as soon as it is promoted, and a server with
 * other data never does. A process that starts knows no history. It takes that of the node that most Sentinels name; if that one is away,
 * most Sentinels must know the other node at least as a replica.
 */

/** a Sentinel or node that has not answered by then, as one that is frozen, does not keep the others from being used */
const SOON_MS = 500
/** of an answer that there is no other for: far or busy ones take longer, as opening a connection takes several round trips */
const DEADLINE_MS = 2000
const LATE = new Error('no answer yet')
const NAME = 'freshet-sentinels'
/** of a Sentinel, in a message */
const MAX_NAMES = 10

/**
 * @typedef {{ primary: string, replicas: string[], promoted: string[] }} Answer URLs; `promoted`: of the replicas, those that a failover
 *   chose
 * @typedef {{ url: string, id: string | null, offset: number }} Known the primary as this process knew it last
 * @typedef {import('./nodes.js').ReplicationFacts} ReplicationFacts
 */

/**
 * @param {{ name: string, sentinels: string[], like: string, known: Known | null,
 *   refusals: import('./refused-answers.js').Refusals }} where `sentinels`: URLs; `like`: with the credentials and TLS files of the servers
 * @returns {Promise<{ url: string, replicas: string[], facts: ReplicationFacts }>} URLs
 * @throws {FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED, SERVER_UNTRUSTED
 */
export async function primaryOf ({ name, sentinels, like, known, refusals }) {
  const answers = await answersOf(sentinels.map((sentinel) => ask(sentinel, name, like)))
  const failures = answers.flatMap((answer) => answer.status === 'rejected' ? [answer.reason] : [])
  const given = answers.flatMap((answer) => answer.status === 'fulfilled' ? [answer.value] : [])
  for (const failure of failures) if (failure.isMalformed) refusals.add('primary', failure)
  if (given.length === 0) throw failures.find(({ retryable }) => !retryable) ?? failures[0]

  const candidates = candidatesOf(given)
  const named = mostNamed(given)
  // all are asked at once, and the first that may be used does not wait for the others
  const asked = new Map(candidates.map((url) => [url, factsOf(url).catch((error) => /** @type {Error} */ (error))]))
  const late = sleep(SOON_MS, LATE, { ref: false })
  const soon = new Map([...asked].map(([url, facts]) => [url, Promise.race([facts, late])]))
  /** @type {Map<string, FreshetError>} */
  const refused = new Map()
  for (const answered of [soon, asked]) {
    for (const url of candidates) {
      const facts = /** @type {ReplicationFacts | Error} */ (await answered.get(url))
      if (facts instanceof Error || !facts.isPrimary) continue
      const first = known === null && votes(given, named) > given.length / 2 ? await answered.get(named) : undefined
      const history = known ?? (first === undefined || first instanceof Error ? null : { id: first.id, offset: 0 })
      if (isTrusted({ url, facts }, { given, sentinels: sentinels.length, known, history })) {
        return { url, facts, replicas: knownReplicas(given, url) }
      }
      if (refused.has(url)) continue
      refused.set(url, contradiction(url, named))
      refusals.add('primary', /** @type {FreshetError} */ (refused.get(url)))
    }
  }
  const facts = /** @type {ReplicationFacts | Error} */ (await asked.get(named))
  throw facts instanceof Error ? facts : facts.isPrimary ? [...refused.values()][0] : isReplica(named)
}

/**
 * The answers of most soon, or all that come.
 * @template T @param {Promise<T>[]} asked @returns {Promise<PromiseSettledResult<T>[]>} in their order
 */
async function answersOf (asked) {
  /** @type {PromiseSettledResult<T>[]} */
  const answers = []
  let [left, given, isSoon] = [asked.length, 0, true]
  await new Promise((/** @type {(value?: unknown) => void} */ resolve) => {
    const check = () => { if (left === 0 || (!isSoon && given > asked.length / 2)) resolve() }
    const timer = setTimeout(() => {
      isSoon = false
      check()
    }, SOON_MS)
    asked.forEach(async (one, i) => {
      ;[answers[i]] = await Promise.allSettled([one])
      if (answers[i].status === 'fulfilled') given++
      if (--left === 0) clearTimeout(timer)
      check()
    })
  })
  return answers.filter(() => true)
}

/** @param {Answer[]} given @param {string} url */
const votes = (given, url) => given.filter(({ primary }) => primary === url).length
/** Also as the one that it promotes. @param {Answer[]} given @param {string} url */
const naming = (given, url) => given.filter(({ primary, promoted }) => primary === url || promoted.includes(url)).length

/** @param {Answer[]} given @returns {string} URL */
const mostNamed = (given) => given.map(({ primary }) => primary).sort((a, b) => votes(given, b) - votes(given, a))[0]

/** Those that a failover promotes come first, then those that most name. @param {Answer[]} given @returns {string[]} URLs */
const candidatesOf = (given) => [...new Set([
  ...given.flatMap(({ promoted }) => promoted),
  ...given.map(({ primary }) => primary).sort((a, b) => votes(given, b) - votes(given, a))
])]

/** That most know, also as a primary. @param {Answer[]} given @param {string} url of the primary */
const knownReplicas = (given, url) => [...new Set(given.flatMap(({ primary, replicas }) => [primary, ...replicas]))]
  .filter((one) => one !== url && knowing(given, one) > given.length / 2)

/** @param {Answer[]} given @param {string} url */
const knowing = (given, url) => given.filter(({ primary, replicas }) => primary === url || replicas.includes(url)).length

/**
 * Whether a node that says that it is a primary may be used.
 * @param {{ url: string, facts: ReplicationFacts }} node
 * @param {{ given: Answer[], sentinels: number, known: Known | null, history: { id: string | null, offset: number } | null }} evidence
 *   `sentinels`: how many are configured; `history`: that is known, or that of the node that most name
 */
function isTrusted ({ url, facts }, { given, sentinels, known, history }) {
  if (url === known?.url || naming(given, url) > sentinels / 2) return true
  if (history) return continues(facts, history)
  return knowing(given, url) > given.length / 2
}

/** @param {string} url @param {string} named */
const contradiction = (url, named) => new FreshetError('SERVER_UNREACHABLE', `a Sentinel names the server at ${new URL(url).host} as the ` +
  `primary, but it does not continue the data of the primary before, and most Sentinels do not name it (but ${new URL(named).host}); ` +
  'compare SENTINEL GET-MASTER-ADDR-BY-NAME and SENTINEL REPLICAS of all Sentinels')

/** @param {string} url */
const isReplica = (url) =>
  new FreshetError('SERVER_UNREACHABLE',
    `the server at ${new URL(url).host}, which the Sentinels name, is a replica; wait until their failover has ended`)

/**
 * @param {string} sentinel URL @param {string} name @param {string} like as primaryOf
 * @returns {Promise<Answer>} @throws {FreshetError} as primaryOf
 */
async function ask (sentinel, name, like) {
  const connection = await openConnection(sentinel, { name: NAME, deadlineMs: DEADLINE_MS })
  const { address } = connection
  try {
    const [found, listed] = await Promise.all([
      connection.send('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name),
      // a user may lack this permission, and an unknown name is an error
      connection.send('SENTINEL', 'REPLICAS', name).catch(() => [])
    ])
    if (found !== null) return answerIn({ found, listed }, { like, address })
    // each is a list of fields and values that begins with the name
    const masters = await connection.send('SENTINEL', 'MASTERS')
    if (!isListOfRows(masters)) throw malformed(address, 'MASTERS')
    const names = masters.slice(0, MAX_NAMES).map(([, value]) => String(value))
    throw new FreshetError('SERVER_REFUSED', `the Sentinel at ${address} watches no primary named ${name}; it watches ` +
      `${names.join(', ') || 'none'}. Put the name behind the hosts: redis+sentinel://${address}/${names[0] ?? 'NAME'}`)
  } catch (error) {
    if (!/unknown command/i.test(error.message)) throw error
    throw new FreshetError('SERVER_REFUSED', `the server at ${address} is not a Sentinel; for a server itself use redis://${address}`)
  } finally {
    connection.close()
  }
}

/** @param {unknown} reply @returns {reply is any[][]} */
const isListOfRows = (reply) => Array.isArray(reply) && reply.every(Array.isArray)

/**
 * @param {{ found: unknown, listed: unknown }} replies to GET-MASTER-ADDR-BY-NAME and REPLICAS
 * @param {{ like: string, address: string }} sentinel that gave them @returns {Answer} @throws {FreshetError} SERVER_REFUSED
 */
function answerIn ({ found, listed }, { like, address }) {
  if (!Array.isArray(found)) throw malformed(address, 'GET-MASTER-ADDR-BY-NAME')
  const named = namedAddress(found[0], found[1])
  if (named === null) throw malformed(address, 'GET-MASTER-ADDR-BY-NAME')
  // the primary counts without a list of its replicas
  const replicas = usableRows(Array.isArray(listed) ? listed : [], (row) => {
    const fields = new Map(Array.isArray(row) ? row.flatMap((field, i) => i % 2 === 0 ? [[String(field), row[i + 1]]] : []) : [])
    const at = namedAddress(fields.get('ip'), fields.get('port'))
    return at && { url: urlAt(like, at.host, at.port), flags: String(fields.get('flags')).split(',') }
  })
  return {
    primary: urlAt(like, named.host, named.port),
    replicas: replicas.map(({ url }) => url),
    promoted: replicas.filter(({ flags }) => flags.includes('promoted')).map(({ url }) => url)
  }
}

/** @param {string} address @param {string} command */
const malformed = (address, command) => new FreshetError('SERVER_REFUSED',
  `the server at ${address} gave no usable answer to SENTINEL ${command}; expected that of a Sentinel`, { isMalformed: true })

/** @param {string} url @returns {Promise<ReplicationFacts>} @throws {FreshetError} */
async function factsOf (url) {
  const connection = await openConnection(url, { name: NAME, deadlineMs: DEADLINE_MS })
  return replicationFacts(connection).finally(() => connection.close())
}

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
  /** @type {Known | null} */
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
