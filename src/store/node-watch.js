/**
 * Figures of all nodes of a deployment, for metrics and for the time before and after a run. It sends nothing between calls. It
 * reconnects to lost nodes, and follows replicas that come and go and an address of the primary that leads to a new one.
 */
import { createLink } from './link.js'
import { nodeFigures, replicaUrls as urlsOfReplicas } from './nodes.js'

/**
 * @param {{ primaryUrl: string, replicaUrls: string[] | null, withReplicas: boolean, name: string, deadlineMs: number }} options
 *   `replicaUrls` null = those that the primary names
 * @throws {import('../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED of the primary
 */
export async function watchNodes ({ primaryUrl, replicaUrls, withReplicas, name, deadlineMs }) {
  const primary = createLink(primaryUrl, { name, deadlineMs })
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
    for (const url of added) replicas.set(url, createLink(url, { name, deadlineMs }))
    await Promise.allSettled(added.map((url) => replicas.get(url)?.opened))
  }

  /** @param {import('./connection.js').Connection} connection */
  const followPrimary = async (connection) => follow(replicaUrls ?? await urlsOfReplicas(connection))

  async function close () {
    closed = true
    await Promise.all([primary, ...replicas.values()].map((link) => link.close()))
  }

  try {
    const connection = await primary.opened
    if (withReplicas) await followPrimary(connection)
  } catch (error) {
    await close()
    throw error
  }
  return {
    /** @returns {Promise<import('./nodes.js').NodeFigures[]>} the primary first; without nodes that are not connected */
    async figures () {
      if (withReplicas && replicaUrls === null && primary.connection) await followPrimary(primary.connection).catch(() => {})
      const links = [primary, ...replicas.values()]
      const asked = primary.connection
      const answers = await Promise.allSettled(links.flatMap(({ connection }) => connection ? [nodeFigures(connection)] : []))
      // a demoted primary keeps its connections; the next one leads to the new primary
      if (asked && answers[0].status === 'fulfilled' && answers[0].value.role === 'replica') asked.close('it is a replica now')
      const figures = answers.flatMap((one) => one.status === 'fulfilled' ? [one.value] : [])
      // a replica that became the primary answers at both addresses
      return figures.filter(({ runId }, i) => i === 0 || !runId || figures.findIndex((one) => one.runId === runId) === i)
    },
    close
  }
}
