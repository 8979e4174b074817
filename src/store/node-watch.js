/**
 * Figures of all nodes of a deployment, for before and after a run and for metrics. Asks only when asked; a node that
 * was lost is found again.
 */
import { createLink } from './link.js'
import { nodeFigures, replicaUrls as urlsOfReplicas } from './nodes.js'

/**
 * @param {{ primaryUrl: string, replicaUrls: string[] | null, withReplicas: boolean, name: string, deadlineMs: number }} options
 *   `replicaUrls` null = those that the primary names now
 * @throws {import('../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED when the primary does not answer
 */
export async function watchNodes ({ primaryUrl, replicaUrls, withReplicas, name, deadlineMs }) {
  const links = [createLink(primaryUrl, { name, deadlineMs })]
  const close = () => Promise.all(links.map((link) => link.close()))
  try {
    const primary = await links[0].opened
    const urls = withReplicas ? replicaUrls ?? await urlsOfReplicas(primary) : []
    links.push(...urls.map((url) => createLink(url, { name, deadlineMs })))
    await Promise.allSettled(links.map((link) => link.opened))
  } catch (error) {
    await close()
    throw error
  }
  return {
    /** @returns {Promise<import('./nodes.js').NodeFigures[]>} the primary first; without nodes that cannot be asked now */
    async figures () {
      const answers = await Promise.allSettled(links.flatMap(({ connection }) => connection ? [nodeFigures(connection)] : []))
      return answers.flatMap((one) => one.status === 'fulfilled' ? [one.value] : [])
    },
    close
  }
}
