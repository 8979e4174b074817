/**
 * The follower of streams of a process: outboxes of systems, and logs of feeds. All that is followed on a node shares one connection and
 * one blocking read (stream-line.js); in a cluster, what is in the same slot, because a read has the keys of one slot.
 *
 *     open(key) ──▶ node that has the key ──▶ its line ──▶ session: reads, other commands, its end
 *
 * A session ends when its line does: the connection was lost, the node was demoted or left, or the slot has moved. What it means that
 * entries were missed, or that another primary answers, is decided by the users of sessions, who open the next one (followStream).
 *
 * @typedef {import('./stream-line.js').FollowedNode} FollowedNode
 * @typedef {ReturnType<typeof createStreamFollower>} StreamFollower
 * @typedef {Awaited<ReturnType<StreamFollower['open']>>} StreamSession
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { FreshetError } from '../errors.js'
import { untilTick } from '../ticks.js'
import { runSessions } from './link.js'
import { openerOf } from './primaries.js'
import { slotOf } from './slots.js'
import { createLine } from './stream-line.js'

/**
 * Reads a stream from a position on, session after session (stream-follower.js), and hands its entries over, batch by batch. The next batch
 * is read when the last one has been taken.
 *
 * @typedef {import('./stream-line.js').StreamConnection} StreamConnection
 * @typedef {[unknown, unknown[]][]} RawEntries id, fields; valid until `take` first waits
 * @typedef {(signal: AbortSignal, key: string) => Promise<{ connection: StreamConnection, isLeft?: () => boolean, taken?: () => void,
 *   end: (refusal: Error | null) => void }>} OpenStream
 */

/** Between two checks while there are entries. */
const CHECK_MS = 100
/** Without entries: a decision that changes what is checked adds one, and a node that is promoted or left ends the session. */
const IDLE_CHECK_MS = 1000
/** After a longer pause of this process a session that is checked ends, since streams are trimmed. */
const MAX_PAUSE_MS = 10_000

/**
 * @param {OpenStream} open
 * @param {{ key: () => Promise<string> | string, count: number, blockMs: number, everyMs?: number, signal: AbortSignal,
 *   firstWaitMs: number, begin: (connection: StreamConnection) => Promise<string> | string,
 *   take: (entries: RawEntries, read: { sentMs: number, isWhole: boolean }) => Promise<unknown> | void,
 *   check?: (connection: StreamConnection) => Promise<boolean>, ended?: () => void,
 *   failed: (error: Error & { code?: string }) => void }} parts `begin`: the position of a session; `take`: also without entries,
 *   `isWhole`: there were no more when it was sent, performance.now(); a text that it resolves with is the position to go on from;
 *   `check`: false ends the session; `ended`: after each session; `everyMs`: reads do not block, and begin at ticks (src/ticks.js), so that
 *   those of many streams are one turn; 0 = no
 * @returns {Promise<void>} once `signal` is aborted
 */
export function followStream (open, parts) {
  const { signal, firstWaitMs, everyMs = 0, begin, take, check, ended = () => {}, failed } = parts

  return runSessions(async () => {
    /** @type {Awaited<ReturnType<OpenStream>> | null} */
    let session = null
    try {
      const key = await parts.key()
      session = await open(signal, key)
      const { connection } = session
      let position = await begin(connection)
      let checkedMs = performance.now()
      let hasNew = false
      let isWhole = true
      while (!signal.aborted && !session.isLeft?.()) {
        if (everyMs > 0 && isWhole) await sleep(untilTick(everyMs), undefined, { signal })
        const sentMs = performance.now()
        const entries = await readOnce(connection, key, position, parts)
        if (signal.aborted) break
        isWhole = entries.length < parts.count
        if (entries.length > 0) {
          position = String(entries[entries.length - 1][0])
          hasNew = true
        }
        const taking = take(entries, { sentMs, isWhole })
        session.taken?.()
        const moved = await taking
        if (typeof moved === 'string') position = moved
        if (check === undefined) continue
        const nowMs = performance.now()
        if (nowMs - checkedMs > MAX_PAUSE_MS) break
        if (nowMs - checkedMs < (hasNew ? CHECK_MS : IDLE_CHECK_MS)) continue
        checkedMs = nowMs
        hasNew = false
        if (!await check(connection)) break
      }
      return 'used'
    } catch (error) {
      if (!signal.aborted) failed(error)
      return error.retryable ? 'unused' : 'refused'
    } finally {
      ended()
      session?.end(null)
    }
  }, { firstWaitMs, signal })
}

/**
 * @param {StreamConnection} connection @param {string} key @param {string} position
 * @param {{ count: number, blockMs: number, everyMs?: number }} options @returns {Promise<RawEntries>}
 */
async function readOnce (connection, key, position, { count, blockMs, everyMs = 0 }) {
  const block = everyMs > 0 ? [] : ['BLOCK', blockMs]
  const reply = await connection.send('XREAD', 'COUNT', count, ...block, 'STREAMS', key, position)
  return reply === null ? [] : reply[0][1]
}

/** Lines of a process: each is a connection and a blocked client of a server. */
const BUDGET = { lines: 0, max: 512 }
/** share of the deadline that a read blocks: the reply must arrive before the server counts as silent */
const BLOCK_SHARE = 0.4
const NO_SLOT = -1

/**
 * @param {{ nodeOf: (key: string) => FollowedNode, isSpread: () => boolean, deadlineMs: number, pauseMs?: number,
 *   budget?: { lines: number, max: number } }} parts `nodeOf`: may throw when no node has the key now; `isSpread`: whether a read can have
 *   the keys of one slot only; `pauseMs` of lines
 */
export function createStreamFollower ({ nodeOf, isSpread, deadlineMs, pauseMs, budget = BUDGET }) {
  /** @type {Set<{ slot: number, line: import('./stream-line.js').Line }>} */
  const lines = new Set()

  /** @param {number} slot @param {FollowedNode} node @param {{ key: string, purpose: string }} first subscriber */
  function openLine (slot, node, { key, purpose }) {
    if (budget.lines >= budget.max) {
      throw new FreshetError('FOLLOWED_FULL', `${key} cannot be followed: this process follows ${budget.lines} slots, ` +
        `and ${budget.max} is the maximum; use fewer partitions, or spread feeds and systems over more processes`)
    }
    budget.lines++
    const longestMs = Math.max(1, Math.floor(deadlineMs * BLOCK_SHARE))
    const one = {
      slot,
      line: createLine({
        node,
        key,
        purpose,
        longestMs,
        pauseMs,
        onOver () {
          lines.delete(one)
          budget.lines--
        }
      })
    }
    lines.add(one)
    return one.line
  }

  return {
    /**
     * @param {AbortSignal} signal ends the session @param {string} key
     * @param {{ purpose?: string }} [options] `purpose`: shown by CLIENT LIST, of the first that a line is opened for
     * @throws {FreshetError} FOLLOWED_FULL, and what the opening of a connection throws
     */
    async open (signal, key, { purpose = 'streams' } = {}) {
      for (;;) {
        const slot = isSpread() ? slotOf(key) : NO_SLOT
        const node = nodeOf(key)
        const known = [...lines].find((one) => one.slot === slot && one.line.id === node.id)
        const line = known?.line ?? openLine(slot, node, { key, purpose })
        const session = line.join(signal)
        try {
          await Promise.race([line.opened, session.closed])
          if (session.isLeft()) throw new FreshetError('SERVER_LOST', `following ${key} was closed`, { outcome: 'over' })
        } catch (error) {
          session.end(null)
          throw error
        }
        // the first connection may have found a cluster
        if (slot === (isSpread() ? slotOf(key) : NO_SLOT)) return session
        session.end(null)
      }
    }
  }
}

/**
 * The follower of the primaries.
 * @param {string} primaryUrl @param {{ name: string, deadlineMs: number, pauseMs?: number }} options as openerOf; `pauseMs` of lines
 * @returns {StreamFollower}
 */
export function streamsAt (primaryUrl, { pauseMs, ...options }) {
  const opener = openerOf(primaryUrl, options)
  return createStreamFollower({
    isSpread: opener.isSpread,
    deadlineMs: options.deadlineMs,
    pauseMs,
    nodeOf: () => ({ id: primaryUrl, open: ({ key, signal }) => opener.open(signal, key) })
  })
}
