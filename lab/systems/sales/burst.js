/** One sale: people come at once, over connections that are open, and each learns the outcome. */
import { fewAtOnce, numbersTo } from '../pace.js'
import { prepare } from './people.js'

const AT_ONCE = 100

/**
 * @param {{ url: URL, sale: string, stock: number, users: number, mode: string, random: () => number, giveUp: number,
 *   ask: import('../process.js').LabProcess['ask'],
 *   neighbours?: Awaited<ReturnType<typeof import('./neighbours.js').startNeighbours>> | null }} parts `ask` the gateway of the lab
 * @returns {Promise<import('./history.js').Sale & { ms: number, selloutMs: number | null, figures: Record<string, number> | null }>} `ms`:
 *   until all know; `selloutMs`: until the last unit was sold
 */
export async function runBurst ({ url, sale, stock, users, mode, random, giveUp, ask, neighbours = null }) {
  await ask('create', { sale, stock })
  const buyers = await fewAtOnce(numbersTo(users), AT_ONCE, (n) => prepare({ url, sale, user: `u${n}`, mode, random, giveUp }))
  neighbours?.begin(sale)
  const beganMs = performance.now()
  const people = await Promise.all(buyers.map(({ go }) => go()))
  const ms = performance.now() - beganMs
  await neighbours?.end()
  for (const { close } of buyers) close()
  const { stored, figures } = await ask('stored', { sale })
  const sold = people.filter(({ code }) => code === 'sold')
  const selloutMs = stored.sold >= stock ? Math.max(...sold.map(({ answeredMs }) => answeredMs)) - beganMs : null
  return { sale, stock, people, stored, figures, ms, selloutMs }
}
