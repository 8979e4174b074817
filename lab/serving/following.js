/**
 * Runs the clients that follow a feed: they connect before the window, are measured in it together with the servers, and
 * report what they know after the load has ended.
 *
 *     filled -> open: a stream for each, with a snapshot -> window: events counted; memory and event loop of the servers ->
 *     load has ended -> settle: does each have the newest acknowledged version of each of its ids?
 *
 * Live memory is measured before and after the client's window, because it forces a garbage collection.
 *
 * @typedef {ReturnType<typeof createFollowing>} Following
 */
import { setTimeout as pause } from 'node:timers/promises'
import { servingFigures } from './figures.js'
import { flowOf, idsOf, pathOf } from './flow.js'
import { CONSTANT } from './plan.js'

const MEMORY_EVERY_MS = 200
/** of the timer that measures the delay of an event loop; a finer one would cost too much */
const LOOP_STEP_MS = 10
const OPEN_WITHIN_MS = 20_000
const SPARE_MS = 20_000

/**
 * @param {import('./plan.js').Serving} serving with push or poll
 * @param {{ client: import('./process.js').Process, feed: string, workload: import('./workload.js').Workload,
 *   ratePerSecond: number }} parts
 *   `ratePerSecond`: items of the feed
 */
export function createFollowing (serving, { client, feed, workload, ratePerSecond }) {
  const { by, connections, idsEach, maxRate, everyMs } = serving
  const asks = /** @type {'push' | 'poll'} */ (serving.asks)
  const { ids, valueBytes } = workload
  const isConstant = CONSTANT.includes(by)
  const followers = { connections, idsEach, ids }
  const flow = flowOf({ ...followers, ...(asks === 'push' && { maxRate }), ratePerSecond })

  /** What `bare` pushes. */
  function constant () {
    const { itemsPerEvent, eventsPerSecond } = flow
    const ats = idsOf(0, followers).slice(0, Math.max(1, Math.round(itemsPerEvent)))
    return { stream: { ats, valueBytes, feed, everyMs: 1000 / eventsPerSecond, isSpread: idsEach !== undefined } }
  }

  return {
    constant,

    /** @param {string[]} urls of the servers @param {number | null} bytes of every event, where they are known */
    async open (urls, bytes) {
      const all = Array.from({ length: connections }, (_, place) =>
        urls[place % urls.length] + (by === 'centrifugo' ? '' : pathOf(asks, place, { ...followers, feed, maxRate })))
      client.send({ event: 'open', urls: all, bytes, asks, connections, idsEach, maxRate, everyMs, ratePerSecond, workload, isConstant })
      await client.receive('opened', OPEN_WITHIN_MS)
    },

    /**
     * @param {Pick<import('./servers.js').Servers, 'running' | 'usages'>} servers @param {number} seconds of the client's window
     * @returns {Promise<import('./figures.js').ServingFigures>}
     */
    async measure (servers, seconds) {
      const { running } = servers
      const liveBytes = [await liveIn(running)]
      client.send({ event: 'follow', seconds })
      await client.receive('window')
      await queryEach(running, 'watch loop', { stepMs: LOOP_STEP_MS })
      const before = await servers.usages()
      const memoryBytes = [memoryOf(before)]
      const over = client.receive('window over', seconds * 1000 + SPARE_MS).then(() => true)
      let after = before
      for (let isOver = false; !isOver;) {
        isOver = await Promise.race([over, pause(MEMORY_EVERY_MS, false)])
        after = await servers.usages()
        memoryBytes.push(memoryOf(after))
      }
      const loops = await queryEach(running, 'loop')
      liveBytes.push(await liveIn(running))
      const { event: _, following, bytes, ...followed } = await client.receive('followed', SPARE_MS)
      const loopDelayMsP99 = Math.max(...loops.map(({ delayMsP99 }) => delayMsP99))
      const figures = servingFigures(serving, { ...followed, bytes }, before, after)
      const dueItems = asks === 'push' ? flow.itemsPerSecond * following.readClients * figures.seconds : null
      const most = asks === 'push' ? maxRate ?? null : null
      return { ...figures, following: { ...following, dueItems, maxRate: most, memoryBytes, liveBytes, loopDelayMsP99 } }
    },

    /** @param {number[]} acknowledged items of each writer, when the load has ended */
    async settle (acknowledged) {
      client.send({ event: 'settle', acknowledged })
      const { event: _, open: openAtEnd, ...settled } = await client.receive('settled', SPARE_MS)
      return { openAtEnd, ...settled }
    }
  }
}

/**
 * @param {import('./process.js').Process[]} servers
 * @param {string} event
 * @param {object} [fields]
 * @returns {Promise<any[]>} their replies
 */
function queryEach (servers, event, fields = {}) {
  for (const server of servers) server.send({ event, ...fields })
  return Promise.all(servers.map((server) => server.receive(event)))
}

/** @param {import('./process.js').Process[]} servers @returns {Promise<number>} bytes */
const liveIn = async (servers) => (await queryEach(servers, 'live memory')).reduce((sum, { bytes }) => sum + bytes, 0)

/** @param {import('./usage.js').Usage[]} usages */
const memoryOf = (usages) => usages.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
