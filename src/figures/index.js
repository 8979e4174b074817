/**
 * Figures of feeds for the live page and `feed show --watch`: write rate, live items and node load, now and over the last ten minutes. They
 * are sampled once a second, so the load on the servers does not grow with the number of watchers. An answer never waits long
 * for servers: values that miss the deadline are null.
 *
 *     each second    names of feeds, heartbeats of their writers (rates.js)    from one node, in one pipeline
 *                    processor time of each node
 *     on demand      definition, count, newest, reach (contents.js)            at most once a second
 *     always known   state and lag of nodes                                    store/servers.js
 *
 * @typedef {{ role: string, address: string, engine: string | null, state: string, lagMs: number | null, cpu: number | null }} NodeNow
 *   `cpu`: share of one core over the last second
 * @typedef {import('./contents.js').Contents & { itemsPerSecond: number | null, writers: number | null,
 *   lastWriteAt: number | null, ready: boolean, reasons: string[],
 *   nodes: NodeNow[], history: import('./history.js').Sample[] }} FeedFigures null = unknown; `lastWriteAt`: ms since 1970, on the
 *   reader's clock
 * @typedef {ReturnType<typeof createFigures>} Figures
 */
import { keptMs } from '../feeds/index.js'
import { oneAtATime, within } from '../runtime/index.js'
import { createReads } from '../store/index.js'
import { eachTick } from '../ticks.js'
import { createContents } from './contents.js'
import { createHistory } from './history.js'
import { createRates } from './rates.js'

export const EVERY_MS = 1000
const HISTORY_MS = 600_000
/** deadline of a sample */
const WAIT_MS = 500
/** older samples are too old to show */
const USABLE_MS = 3000
/** from clients that may see some ids only */
const none = () => { throw new Error('queriesOf is needed for figures of some ids') }
const HIDDEN = Object.freeze({ itemsPerSecond: null, writers: null, lastWriteAt: null, keptMs: null, nodes: [], history: [] })

/**
 * @param {{ queries: import('./contents.js').Queries & Pick<import('../view/index.js').Views, 'status'>,
 *   queriesOf?: import('./contents.js').QueriesOf,
 *   deployment: Pick<import('../store/index.js').Servers, 'shard' | 'nodes' | 'figures'>, keyPrefix: string,
 *   now: () => number, elapsed?: () => number, log: { warn: (facts: object, message: string) => void } }} parts `queriesOf`: for
 *   `ofOwn`; `now`: ms since 1970; `elapsed`: monotonic ms
 */
export function createFigures ({ queries, queriesOf = none, deployment, keyPrefix, now, elapsed = () => performance.now(), log }) {
  const history = createHistory()
  /** @param {import('../feeds/index.js').Definition} definition */
  const reach = (definition) => keptMs(createReads(deployment).router, keyPrefix, definition, now())
  const contents = createContents({ queries, queriesOf, reach, elapsed })
  const rates = createRates({ deployment, keyPrefix, elapsed, log })
  const processors = createProcessors(deployment)
  const readRates = oneAtATime(() => rates.read(history.choose))
  const readProcessors = oneAtATime(processors.read)
  /** @type {{ rates: Map<string, import('./rates.js').Rate | null> | null, cpuOf: (address: string) => number | null, takenMs: number }} */
  let last = { rates: null, cpuOf: () => null, takenMs: -Infinity }
  let isClosed = false

  async function sample () {
    const [found, cpuOf] = await Promise.all([within(readRates(), WAIT_MS), within(readProcessors(), WAIT_MS)])
    if (isClosed) return
    last = { rates: found, cpuOf: cpuOf ?? (() => null), takenMs: elapsed() }
    const nodes = deployment.nodes()
    const lags = nodes.flatMap(({ role, lagMs }) => role === 'replica' && lagMs !== null ? [lagMs] : [])
    const lagMs = lags.length > 0 ? Math.max(...lags) : null
    const cpu = Object.fromEntries(nodes.map(({ address }) => [address, last.cpuOf(address)]))
    history.add({ at: Math.floor(now()), lagMs, cpu }, (feed) => found?.get(feed)?.itemsPerSecond ?? null)
  }
  const end = eachTick(EVERY_MS, sample)
  sample()

  return {
    /**
     * @param {string} feed @param {number} sinceMs history after it
     * @returns {Promise<FeedFigures>} within a second, whatever the state of the servers
     * @throws {import('../errors.js').FreshetError} FEED_UNKNOWN and other faults of the feed
     */
    async of (feed, sinceMs) {
      const found = await contents.of(feed)
      if (found.definition !== null) history.touch(feed)
      const { rates: sampled, cpuOf } = elapsed() - last.takenMs < USABLE_MS ? last : { rates: null, cpuOf: () => null }
      const rate = sampled?.get(feed)
      const { ready, reasons, nodes } = queries.status(feed)
      const writeMs = rates.lastWriteMs(feed)
      return {
        ...found,
        itemsPerSecond: rate?.itemsPerSecond ?? null,
        writers: rate?.writers ?? null,
        lastWriteAt: writeMs === null ? null : Math.floor(now() - (elapsed() - writeMs)),
        ready,
        reasons,
        nodes: nodes.map(({ role, address, engine, state, lagMs }) =>
          ({ role, address, engine, state, lagMs: role === 'replica' ? lagMs : null, cpu: cpuOf(address) })),
        // after a suspend of the process there are older ones
        history: history.of(feed, Math.max(sinceMs, now() - HISTORY_MS))
      }
    },

    /**
     * Of the ids of a filter: numbers that other ids have a part in are null.
     * @param {string} feed @param {import('../item/index.js').IdFilter} filter @returns {Promise<FeedFigures>} @throws as `of`
     */
    async ofOwn (feed, filter) {
      const { ready, reasons } = queries.status(feed)
      return {
        ...await contents.of(feed, filter),
        ...HIDDEN,
        ready,
        reasons: reasons.length > 0 ? ['a token without ids is shown the reasons'] : []
      }
    },

    close () {
      isClosed = true
      end()
    }
  }
}

// The share of a core that each node used between two samples, on its own clock, so delays of replies do not matter.

const DEFAULT_PORT = '6379'

/** Node addresses may lack the port; addresses of figures have it. @param {string} address */
const withPort = (address) => /:\d+$/.test(address) ? address : `${address}:${DEFAULT_PORT}`

/** @param {Pick<import('../store/index.js').Servers, 'figures'>} deployment */
function createProcessors ({ figures }) {
  /** @type {Map<string, import('../store/index.js').NodeFigures>} */
  let before = new Map()

  return {
    /** @returns {Promise<(address: string) => number | null>} share by address; null = unknown */
    async read () {
      const now = new Map((await figures()).map((node) => [node.address, node]))
      const shares = new Map([...now].map(([address, node]) => [address, shareOf(before.get(address), node)]))
      before = now
      return (address) => shares.get(withPort(address)) ?? null
    }
  }
}

/**
 * @param {import('../store/index.js').NodeFigures | undefined} before @param {import('../store/index.js').NodeFigures} now
 * @returns {number | null}
 */
function shareOf (before, now) {
  // a restarted server counts from 0 again
  if (!before || before.runId !== now.runId) return null
  const passedMs = now.timeMs - before.timeMs
  return passedMs > 0 ? Math.round((now.cpuSeconds - before.cpuSeconds) * 1000 / passedMs * 10_000) / 10_000 : null
}
