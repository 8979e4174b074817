/**
 * The share of a core that each node used between two samples, on its own clock, so delays of replies do not matter.
 */

const DEFAULT_PORT = '6379'

/** Node addresses may lack the port; addresses of figures have it. @param {string} address */
const withPort = (address) => /:\d+$/.test(address) ? address : `${address}:${DEFAULT_PORT}`

/** @param {Pick<import('../store/index.js').Servers, 'figures'>} deployment */
export function createProcessors ({ figures }) {
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
