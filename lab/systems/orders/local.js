/**
 * Orders in the memory of the replica that took them; stock and payments are messages on a bus, and each message goes to whichever replica
 * is free. A result that reaches another replica than the one with the order is lost: with three replicas and two messages all but 1 of 9
 * orders, by construction. The published deployment is not like that: it sends by a topic, which brings each message to every replica.
 *
 * @typedef {import('./local-process.js').Parts} Parts
 * @typedef {import('./local-process.js').Ways} Ways
 */
const GROUP = 'replicas'
const BLOCK_MS = 1000
const COUNT = 100

/** @param {Parts} parts @returns {Promise<Ways>} */
export async function openLocal ({ open, server, key, ended, reserve, giveBack, pay, signal }) {
  /** @type {Map<string, import('./local-process.js').Placed & { placedMs: number }>} */
  const running = new Map()
  const send = (/** @type {string} */ name, /** @type {object} */ message) =>
    server.send('XADD', key(name), '*', 'm', JSON.stringify(message))

  /** @param {string} name @param {(message: any) => Promise<unknown>} handle */
  async function follow (name, handle) {
    const connection = await open(name)
    await connection.send('XGROUP', 'CREATE', key(name), GROUP, '0', 'MKSTREAM').catch((error) => {
      if (!String(error.message).includes('BUSYGROUP')) throw error
    })
    while (!signal.aborted) {
      const found = await connection.send('XREADGROUP', 'GROUP', GROUP, String(process.pid), 'COUNT', COUNT, 'BLOCK', BLOCK_MS, 'NOACK',
        'STREAMS', key(name), '>')
      const [[, entries]] = Array.isArray(found) ? found : [[null, []]]
      for (const [, [, text]] of entries) handle(JSON.parse(String(text)))
    }
  }

  follow('requests', async ({ id, lines, total }) => {
    const [yes, no] = lines ? ['held', 'insufficient'] : ['captured', 'declined']
    await send('results', { id, outcome: await (lines ? reserve(lines) : pay(id, total)) ? yes : no })
  })
  follow('results', async ({ id, outcome }) => {
    const order = running.get(id)
    if (!order) return // of another replica
    if (outcome === 'held') return send('requests', { id, total: order.total })
    if (outcome === 'declined') await giveBack(order.lines)
    const { placedMs, ...placed } = order
    ended.set(id, {
      ...placed,
      ...(outcome === 'captured' ? { status: 'confirmed', reason: null } : { status: 'cancelled', reason: outcome }),
      ms: performance.now() - placedMs
    })
    running.delete(id)
  })

  return {
    async place (id, order) {
      running.set(id, { ...order, placedMs: performance.now() })
      await send('requests', { id, lines: order.lines })
    },
    statusOf: async (id) => ended.get(id)?.status ?? (running.has(id) ? 'pending' : null)
  }
}
