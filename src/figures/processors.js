/**
 * What share of a core each node used between two looks, by its own clock: how late an answer is read changes nothing.
 */

const DEFAULT_PORT = '6379'

/** Nodes are named as their addresses were given, figures with their port. @param {string} address */
const withPort = (address) => /:\d+$/.test(address) ? address : `${address}:${DEFAULT_PORT}`

/** @param {Pick<import('../store/deployment.js').Deployment, 'figures'>} deployment */
export function createProcessors ({ figures }) {
  /** @type {Map<string, import('../store/nodes.js').NodeFigures>} */
  let before = new Map()

  return {
    /** @returns {Promise<(address: string) => number | null>} share by address; null = not known */
    async read () {
      const now = new Map((await figures()).map((node) => [node.address, node]))
      const shares = new Map([...now].map(([address, node]) => [address, shareOf(before.get(address), node)]))
      before = now
      return (address) => shares.get(withPort(address)) ?? null
    }
  }
}

/**
 * @param {import('../store/nodes.js').NodeFigures | undefined} before @param {import('../store/nodes.js').NodeFigures} now
 * @returns {number | null}
 */
function shareOf (before, now) {
  // one that was restarted counts from 0 again
  if (!before || before.runId !== now.runId) return null
  const passedMs = now.timeMs - before.timeMs
  return passedMs > 0 ? Math.round((now.cpuSeconds - before.cpuSeconds) * 1000 / passedMs * 10_000) / 10_000 : null
}
