/** Waits for a node that is behind a view, as nodes of one replication history have the same items sooner or later. */
import { setTimeout as sleep } from 'node:timers/promises'

/** a second; by looks, because a process that stands still for a second has not given the node a chance */
const LOOKS = 50
const LOOK_EVERY_MS = 20

/**
 * Looks at the node for about a second, until it has caught up.
 * @param {() => Promise<boolean>} hasCaughtUp
 */
export async function waitUntilCaughtUp (hasCaughtUp) {
  for (let looks = 0; looks < LOOKS && !await hasCaughtUp(); looks++) await sleep(LOOK_EVERY_MS)
}
