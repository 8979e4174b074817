/**
 * Figures of all nodes, for metrics and for the time before and after a run. It sends nothing between calls. It
 * reconnects to lost nodes, and follows replicas that come and go and an address of a primary that leads to a new one.
 */
import { createLink } from './link.js'
import { nodeFigures, nodeInfo, replicaUrls as urlsOfReplicas } from './nodes.js'
import { createPrimaries } from './primaries.js'
import { slotMapOf } from './slot-map.js'

/**
 * @param {{ primaryUrl: string, replicaUrls: string[] | null, withReplicas: boolean, name: string, deadlineMs: number }} options
 *   `replicaUrls` null = those that the primary names
 * @throws {import('../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED of the primary
 */
export async function watchNodes ({ primaryUrl, replicaUrls, withReplicas, name, deadlineMs }) {
  const map = slotMapOf(primaryUrl)
  const primaries = createPrimaries(primaryUrl, { name, deadlineMs, prepare: nodeInfo })
  /** @type {Map<string, import('./link.js').Link>} */
  const replicas = new Map()
  let closed = false

  /** Resolves when new replicas have connected or failed. @param {string[]} urls */
  async function follow (urls) {
    if (closed) return
    for (const [url, link] of replicas) {
      // a replica that still answers may be changing its primary
      if (urls.includes(url) || link.connection) continue
      replicas.delete(url)
      link.close()
    }
    const added = urls.filter((url) => !replicas.has(url))
    for (const url of added) replicas.set(url, createLink({ map, url: () => url }, { name, deadlineMs }))
    await Promise.allSettled(added.map((url) => replicas.get(url)?.opened))
  }

  async function followPrimaries () {
    const given = map.isCluster ? null : replicaUrls
    await follow(given ?? (await Promise.all(primaries.connections.map(urlsOfReplicas))).flat())
  }

  async function close () {
    closed = true
    await Promise.all([primaries, ...replicas.values()].map((one) => one.close()))
  }

  try {
    await primaries.opened
    if (withReplicas) await followPrimaries()
  } catch (error) {
    await close()
    throw error
  }
  return {
    /** @returns {Promise<import('./nodes.js').NodeFigures[]>} primaries first; without nodes that are not connected */
    async figures () {
      if (withReplicas && (map.isCluster || replicaUrls === null)) await followPrimaries().catch(() => {})
      const asked = primaries.connections
      const open = [...asked, ...[...replicas.values()].flatMap(({ connection }) => connection ?? [])]
      const answers = await Promise.allSettled(open.map(nodeFigures))
      // a demoted primary keeps its connections; the next one leads to the new primary
      asked.forEach((connection, i) => {
        const answer = answers[i]
        if (answer.status === 'fulfilled' && answer.value.role === 'replica') connection.close('it is a replica now')
      })
      const figures = answers.flatMap((one) => one.status === 'fulfilled' ? [one.value] : [])
      // a replica that became a primary answers at both addresses
      return figures.filter(({ runId }, i) => !runId || figures.findIndex((one) => one.runId === runId) === i)
    },
    close
  }
}
