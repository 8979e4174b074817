/** What confirms the decisions of a system: connections of their own, because WAIT blocks the one that it is sent on. */
import { createRoutes } from '../store/index.js'
import { createConfirm } from './durability.js'

/**
 * @param {{ primaryUrl: string, name: string, keyOf: (partition: number) => (part: string) => string, durability: string,
 *   deadlineMs: number, waitMs: number }} options `name`: of the connections
 * @returns {{ of: (partition: number) => ReturnType<typeof createConfirm>, close: () => Promise<void> } | null} null: what the primary has
 *   decided is confirmed
 */
export function openConfirms ({ primaryUrl, name, keyOf, durability, deadlineMs, waitMs }) {
  if (durability !== 'replica' && durability !== 'aof') return null
  const routes = createRoutes({ primaryUrl, name, deadlineMs: deadlineMs + waitMs })
  let isClosed = false
  return {
    of: (partition) => createConfirm({
      route: () => routes.route(keyOf(partition)('')),
      key: keyOf(partition),
      marker: `marker:${process.pid}`,
      durability,
      waitMs,
      isClosed: () => isClosed
    }),
    close () {
      isClosed = true
      return routes.close()
    }
  }
}
