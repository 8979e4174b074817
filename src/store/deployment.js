/**
 * The nodes of a deployment as a reader sees them: the primary, its replicas, how far each is behind, and which of
 * them may answer.
 *
 * Every 100 ms the primary and each replica are asked for their ROLE. The primary's (time, offset) samples make lag a
 * time: now minus the newest time at which the primary's offset was not above the replica's. It needs no writes, and
 * is null when the primary cannot be asked, and of a replica that does not say its offset, since it has lost its primary:
 * what is not known is no lag.
 *
 * A replica is left when it is down, syncing, or more than `LEAVE_AT_MS` behind, until it is within `RETURN_AT_MS`.
 * When the primary itself is gone, replicas answer what they have. Nothing falls back to the primary by itself.
 *
 * A primary that was made a replica keeps its connections. It is left at once, and from then on it is looked once a second
 * where the address leads; who follows it over a connection of his own leaves it when there is another one.
 *
 * A replica of another primary is left, too: its offsets would seem near, and what it has is something else. It is known by
 * its replication id (history.js), so also after a failover, and when it follows another replica.
 *
 * A node that refuses its user a question is left too, and opened again after a second. It counts as open when it
 * answers that same question: a node that refused it would otherwise seem ready until somebody asks.
 */
import { FreshetError } from '../errors.js'
import { NO_PRIMARY, absence, compareHistory, createNode, refusalOf } from './deployment-node.js'
import { nodeFigures, replicaUrls as urlsOfReplicas } from './nodes.js'
import { openOwnConnection } from './own-connection.js'
import { gateTo } from './refusal-gate.js'

const POLL_MS = 100
const LOOK_AGAIN_MS = 1000
const SAMPLES = 600
const LEAVE_AT_MS = 1000
const RETURN_AT_MS = 200
/** replicas that are hardly further behind than the nearest take turns */
const NEAR_MS = 100
const FOREIGN = 'of another primary'
const NO_REPLICA = 'not a replica'

/** @typedef {ReturnType<typeof createDeployment>} Deployment */
/** @typedef {import('./deployment-node.js').Node} Node */

/**
 * @param {{ primaryUrl: string, replicaUrls: string[] | null, readFrom: 'replica' | 'primary', name: string,
 *   deadlineMs: number, log: import('pino').Logger }} options
 */
export function createDeployment ({ primaryUrl, replicaUrls, readFrom, name, deadlineMs, log }) {
  const nodeAt = (/** @type {Node['role']} */ role, /** @type {string} */ url) => createNode(role, url, { name, deadlineMs, log })
  const primary = nodeAt('primary', primaryUrl)
  /** @type {Map<string, Node>} */
  const replicas = new Map((replicaUrls ?? []).map((url) => [url, nodeAt('replica', url)]))
  /** @type {{ atMs: number, offset: number }[]} */
  const samples = []
  let turn = 0
  /** when it was looked where the address leads, since that was no primary; null = it is one */
  let lookedMs = /** @type {number | null} */ (null)
  let closed = false
  /** @type {NodeJS.Timeout | undefined} */
  let timer

  async function pollPrimary () {
    const { connection } = primary.link
    if (!connection) {
      primary.state = absence(primary)
      return
    }
    const [role, offset] = await connection.send('ROLE')
    const atMs = performance.now()
    if (String(role) !== 'master') return lookElsewhere(connection)
    await primary.history.look(connection, primary.state)
    primary.state = 'up'
    lookedMs = null
    samples.push({ atMs, offset: Number(offset) })
    if (samples.length > SAMPLES) samples.shift()
    if (replicaUrls === null) follow(await urlsOfReplicas(connection))
  }

  /** @param {import('./connection.js').Connection} connection to what is no primary: its address may lead to another node by now */
  function lookElsewhere (connection) {
    primary.state = NO_PRIMARY
    if (lookedMs === null) log.warn({ node: connection.address }, 'the address of the primary leads to a replica, looking for the primary')
    else if (performance.now() - lookedMs < LOOK_AGAIN_MS) return
    lookedMs = performance.now()
    connection.close('it is a replica')
  }

  /** @param {string[]} urls the replicas that the primary names now */
  function follow (urls) {
    for (const url of urls) if (!replicas.has(url)) replicas.set(url, nodeAt('replica', url))
    for (const [url, node] of replicas) {
      // one that answers is on its way to this primary, unless it is it, or another one
      if (urls.includes(url) || (node.link.connection && node.state !== NO_REPLICA)) continue
      replicas.delete(url)
      node.link.close()
    }
  }

  /** @param {Node} node */
  async function pollReplica (node) {
    const { connection } = node.link
    if (!connection) {
      node.state = absence(node)
      node.lagMs = null
      return
    }
    const askedMs = performance.now()
    const [role, ...facts] = await connection.send('ROLE')
    const [, , state, offset] = facts
    if (String(state) === 'connected' && primary.state === 'up') await compareHistory(node, primary, { about: String(facts.slice(0, 3)), log })
    node.state = String(role) !== 'slave' ? NO_REPLICA : isLeftForAnother(node) ? FOREIGN : String(state)
    node.offset = Number(offset)
    node.lagMs = isLeftForAnother(node) ? null : lagOf(node, askedMs)
    const far = node.lagMs !== null && node.lagMs > (node.left ? RETURN_AT_MS : LEAVE_AT_MS)
    if (far !== node.left && node.lagMs !== null) log.warn({ node: connection.address, lagMs: node.lagMs }, far ? 'replica lags, left' : 'replica caught up')
    node.left = far
  }

  /** When the primary is gone, what it said of its replicas no longer keeps them from answering. @param {Node} node */
  const isLeftForAnother = ({ isForeign }) => isForeign && primary.state === 'up'

  /** @param {Node} node @param {number} askedMs when the replica was asked: a process that reads the answer late is no lag of the replica @returns {number | null} */
  function lagOf (node, askedMs) {
    const last = samples.at(-1)
    // -1 while there is no link to a primary, and no number of one that is a primary itself
    if (!(node.offset >= 0)) return null
    if (!last || askedMs - last.atMs > LEAVE_AT_MS) return null
    const reached = samples.findLast((sample) => sample.offset <= node.offset) ?? samples[0]
    return Math.round(askedMs - reached.atMs)
  }

  async function poll () {
    await pollPrimary().catch(() => {})
    await Promise.all([...replicas.values()].map((node) => pollReplica(node).catch(() => {})))
    if (!closed) timer = setTimeout(poll, POLL_MS)
  }
  const firstRound = firstAnswers()
  firstRound.catch(() => {})

  async function firstAnswers () {
    try {
      await primary.link.opened
    } catch (error) {
      // with replicas given, the primary may be down
      if (!replicaUrls?.length || error.code !== 'SERVER_UNREACHABLE') {
        // whoever goes on without an answer finds the nodes when they come
        poll()
        throw error
      }
    }
    await pollPrimary().catch(() => {})
    if (readFrom === 'replica') await Promise.allSettled([...replicas.values()].map((node) => node.link.opened))
    await poll()
  }

  /** @param {Node} node */
  function usable (node) {
    if (!node.link.connection) return false
    if (primary.state === 'up') return node.state === 'connected' && !node.left
    // its link to the primary may be in any state but a full resync; what it has it can answer
    return !['sync', 'down', 'refused', 'untrusted', NO_REPLICA, FOREIGN].includes(node.state)
  }

  const unreachable = () => new FreshetError('SERVER_UNREACHABLE', `the primary at ${new URL(primaryUrl).host} cannot be reached, or is none`)

  /** Why no replica can answer. */
  function nobody () {
    const nodes = [...replicas.values()]
    const summary = nodes.length
      ? `none of ${nodes.length} replicas can answer (${nodes.map((node) => node.left ? 'lagging' : node.state).join(', ')})`
      : 'the primary has no replica; connect one, or read with readFrom primary (--read-from)'
    const refusal = refusalOf(nodes.length ? nodes : [primary])
    if (refusal) return new FreshetError(refusal.code, `${nodes.length ? `${summary}: ` : ''}${refusal.message}`)
    if (nodes.length === 0 && primary.link.connection === null) return unreachable()
    return new FreshetError('REPLICAS_GONE', summary)
  }

  const nodes = () => [primary, ...replicas.values()]

  /** @param {Node} node */
  function lagNow (node) {
    if (node.role === 'replica') return node.lagMs
    return node.link.connection !== null && node.state !== NO_PRIMARY ? 0 : null
  }

  /** @param {Node} node */
  function mayAnswer (node) {
    if (readFrom === 'replica') return node.role === 'replica' && usable(node)
    return node === primary && node.link.connection !== null && node.state !== NO_PRIMARY
  }

  /** @param {Node} node */
  const isRefusing = (node) => gateTo(node.url).refusal !== null

  /** @param {{ but?: import('./connection.js').Connection, prefer?: import('./connection.js').Connection, isOwn?: boolean }} [among] @returns {Node} */
  function choose ({ but, prefer, isOwn = false } = {}) {
    if (readFrom === 'primary') {
      if (mayAnswer(primary) && primary.link.connection !== but) return primary
      // while its address leads to a replica it is looked for: that passes
      throw (lookedMs === null && refusalOf([primary])) || unreachable()
    }
    const able = [...replicas.values()].filter((node) => mayAnswer(node) && node.link.connection !== but)
    if (able.length === 0) throw nobody()
    const open = able.filter((node) => !isOwn || !isRefusing(node))
    const among = open.length > 0 ? open : able
    const least = Math.min(...among.map((node) => node.lagMs ?? 0))
    const near = among.filter((node) => (node.lagMs ?? 0) <= least + NEAR_MS)
    return near.find((one) => one.link.connection === prefer) ?? near[turn++ % near.length]
  }

  return {
    /** Resolves when every node was asked once. Rejects with what the primary's first connection met. */
    ready: firstRound,

    /**
     * A node that may answer now.
     * @param {{ but?: import('./connection.js').Connection, prefer?: import('./connection.js').Connection }} [among]
     *   `but`: one that has just failed; `prefer`: the one that answered the page before
     * @returns {{ connection: import('./connection.js').Connection, lagMs: number | null }}
     * @throws {FreshetError} REPLICAS_GONE, SERVER_UNREACHABLE; SERVER_REFUSED, SERVER_UNTRUSTED until somebody mends that
     */
    pick (among) {
      const node = choose(among)
      return { connection: /** @type {import('./connection.js').Connection} */ (node.link.connection), lagMs: lagNow(node) }
    },

    /**
     * A connection of the caller's own to a node that may answer now, for questions that wait on the server. It takes turns
     * with all others where a node refuses (own-connection.js), and goes to one that does not while there is any. The caller
     * ends it.
     * @param {string} purpose what CLIENT LIST shows behind the name
     * @param {{ isForLog: boolean, signal: AbortSignal, onRefused: (refusal: Error) => void }} options `isForLog`: for
     *   following a log (log-connection.js), it takes single commands alone; `signal` ends the wait for a turn; `onRefused` is
     *   told why it has to wait
     * @throws {FreshetError} as `pick`; what the new connection met; SERVER_LOST: `signal`
     */
    async openOwn (purpose, options) {
      while (!options.signal.aborted) {
        const node = choose({ isOwn: true })
        const { runId } = node
        const isInVain = () => !mayAnswer(node) || nodes().some((one) => mayAnswer(one) && !isRefusing(one))
        const opened = await openOwnConnection(node.url, { ...options, name: `${name}:${purpose}`, deadlineMs, isInVain })
        if (opened === null) continue
        return {
          ...opened,
          /** Whether another node should be asked: this one may not answer any more, or its address leads to another, and one may. */
          isLeft: () => !(mayAnswer(node) && node.runId === runId) && nodes().some(mayAnswer),
          /** of the node, null = not known */
          lagMs: () => lagNow(node)
        }
      }
      throw new FreshetError('SERVER_LOST', 'nothing is opened any more')
    },
    /** a server that is silent for so long while asked is given up */
    deadlineMs,

    /** @returns {{ role: string, address: string, connected: boolean, engine: string | null, state: string, lagMs: number | null }[]} */
    nodes: () => nodes().map((node) => ({
      role: node.role,
      address: new URL(node.url).host,
      connected: node.link.connection !== null,
      engine: node.engine,
      state: node.left ? 'lagging' : node.state,
      lagMs: lagNow(node)
    })),

    /** Asks every connected node for its figures. */
    figures: async () => (await Promise.all(nodes().map((node) =>
      node.link.connection ? nodeFigures(node.link.connection).catch(() => null) : null))).filter((figures) => figures !== null),

    async close () {
      closed = true
      clearTimeout(timer)
      await Promise.all(nodes().map((node) => node.link.close()))
    }
  }
}
