/**
 * Clients that follow a feed, as the lab leads them: they are there before the window begins, are watched through it
 * together with who serves them, and are asked what they know when the load has ended.
 *
 *     filled -> open: a stream for each, with a snapshot -> window: events counted; memory and loop of who serves ->
 *     load has ended -> settle: has each the newest version that was acknowledged of each of its ids?
 *
 * What is live in memory is asked for before the client's window and behind it, since all garbage is collected for that.
 *
 * @typedef {ReturnType<typeof createFollowing>} Following
 */
import { setTimeout as pause } from 'node:timers/promises'
import { servingFigures } from './figures.js'
import { flowOf, idsOf, pathOf } from './flow.js'

const MEMORY_EVERY_MS = 200
/** of the timer that tells how late a loop is: a finer one costs more than it tells */
const LOOP_STEP_MS = 10
const OPEN_WITHIN_MS = 20_000
const SPARE_MS = 20_000

/**
 * @param {import('./plan.js').Serving} serving that asks push or poll
 * @param {{ client: import('./process.js').Process, feed: string, workload: import('./workload.js').Workload, ratePerSecond: number }} place `ratePerSecond`: items of the feed
 */
export function createFollowing (serving, { client, feed, workload, ratePerSecond }) {
  const { by, connections, idsEach, maxRate, everyMs } = serving
  const asks = /** @type {'push' | 'poll'} */ (serving.asks)
  const { ids, valueBytes } = workload
  const isConstant = by === 'bare'
  const followers = { connections, idsEach, ids }

  /** What `bare` is told to push. */
  function constant () {
    const { itemsPerEvent, eventsPerSecond } = flowOf({ ...followers, maxRate, ratePerSecond })
    const ats = idsOf(0, followers).slice(0, Math.max(1, Math.round(itemsPerEvent)))
    return { stream: { ats, valueBytes, feed, everyMs: 1000 / eventsPerSecond, isSpread: idsEach !== undefined } }
  }

  /** @param {import('./process.js').Process[]} servers */
  const usages = (servers) => Promise.all(servers.map((server) => server.usage()))

  /** @param {import('./process.js').Process[]} servers @returns {Promise<number>} bytes */
  async function liveIn (servers) {
    for (const server of servers) server.tell({ event: 'live memory' })
    const all = await Promise.all(servers.map((server) => server.heard('live memory')))
    return all.reduce((sum, { bytes }) => sum + bytes, 0)
  }

  return {
    constant,

    /** @param {string[]} urls of who serves @param {number | null} bytes of every event, where they are known */
    async open (urls, bytes) {
      const all = Array.from({ length: connections }, (_, place) => urls[place % urls.length] + pathOf(asks, place, { ...followers, feed, maxRate }))
      client.tell({ event: 'open', urls: all, bytes, asks, connections, idsEach, maxRate, everyMs, ratePerSecond, workload, isConstant })
      await client.heard('opened', OPEN_WITHIN_MS)
    },

    /**
     * @param {import('./process.js').Process[]} servers @param {number} seconds of its own
     * @returns {Promise<import('./figures.js').ServingFigures>}
     */
    async measure (servers, seconds) {
      const liveBytes = [await liveIn(servers)]
      client.tell({ event: 'follow', seconds })
      await client.heard('window')
      for (const server of servers) server.tell({ event: 'watch loop', stepMs: LOOP_STEP_MS })
      await Promise.all(servers.map((server) => server.heard('watch loop')))
      const before = await usages(servers)
      const memoryBytes = [memoryOf(before)]
      const over = client.heard('window over', seconds * 1000 + SPARE_MS).then(() => true)
      let after = before
      for (let isOver = false; !isOver;) {
        isOver = await Promise.race([over, pause(MEMORY_EVERY_MS, false)])
        after = await usages(servers)
        memoryBytes.push(memoryOf(after))
      }
      for (const server of servers) server.tell({ event: 'loop' })
      liveBytes.push(await liveIn(servers))
      const loops = await Promise.all(servers.map((server) => server.heard('loop')))
      const { event: _, following, bytes, ...followed } = await client.heard('followed', SPARE_MS)
      const loopDelayMsP99 = Math.max(...loops.map(({ delayMsP99 }) => delayMsP99))
      const figures = servingFigures(serving, { ...followed, bytes }, before, after)
      return { ...figures, following: { ...following, maxRate: asks === 'push' ? maxRate ?? null : null, memoryBytes, liveBytes, loopDelayMsP99 } }
    },

    /** @param {number[]} acknowledged items of each writer, when the load has ended */
    async settle (acknowledged) {
      client.tell({ event: 'settle', acknowledged })
      const { event: _, open: openAtEnd, ...settled } = await client.heard('settled', SPARE_MS)
      return { openAtEnd, ...settled }
    }
  }
}

/** @param {import('./usage.js').Usage[]} usages */
const memoryOf = (usages) => usages.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0)
