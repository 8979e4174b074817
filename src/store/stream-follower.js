/**
 * The follower of streams of a process: outboxes of systems, and logs of feeds. All that is followed on a node shares one connection and
 * one blocking read (stream-line.js); in a cluster, what is in the same slot, because a read has the keys of one slot.
 *
 *     open(key) ──▶ node that has the key ──▶ its line ──▶ session: reads, other commands, its end
 *
 * A session ends when its line does: the connection was lost, the node was demoted or left, or the slot has moved. What it means that
 * entries were missed, or that another primary answers, is decided by the users of sessions, who open the next one (follow-stream.js).
 *
 * @typedef {import('./stream-line.js').FollowedNode} FollowedNode
 * @typedef {ReturnType<typeof createStreamFollower>} StreamFollower
 * @typedef {Awaited<ReturnType<StreamFollower['open']>>} StreamSession
 */
import { FreshetError } from '../errors.js'
import { openerOf } from './primaries.js'
import { slotOf } from './slots.js'
import { createLine } from './stream-line.js'

/** Lines of a process: each is a connection and a blocked client of a server. */
const BUDGET = { lines: 0, max: 512 }
/** share of the deadline that a read blocks: the reply must arrive before the server counts as silent */
const BLOCK_SHARE = 0.4
const NO_SLOT = -1

/**
 * @param {{ nodeOf: (key: string) => FollowedNode, isSpread: () => boolean, deadlineMs: number,
 *   budget?: { lines: number, max: number } }} parts `nodeOf`: may throw when no node has the key now;
 *   `isSpread`: whether a read can have the keys of one slot only
 */
export function createStreamFollower ({ nodeOf, isSpread, deadlineMs, budget = BUDGET }) {
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
 * @param {string} primaryUrl @param {{ name: string, deadlineMs: number }} options as openerOf
 * @returns {StreamFollower}
 */
export function streamsAt (primaryUrl, options) {
  const opener = openerOf(primaryUrl, options)
  return createStreamFollower({
    isSpread: opener.isSpread,
    deadlineMs: options.deadlineMs,
    nodeOf: () => ({ id: primaryUrl, open: ({ key, signal }) => opener.open(signal, key) })
  })
}
