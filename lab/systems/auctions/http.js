/**
 * A technique behind HTTP: a gateway of the lab (gateway-process.js) decides, and this process sends bids over keep-alive connections.
 *
 *     submit -> a free connection -> POST /v1/auctions/:id/bids -> the technique in the gateway
 */
import { openLine } from '../../serving/line.js'
import { startOpened } from '../process.js'

const GATEWAY = new URL('gateway-process.js', import.meta.url)
const CODES = Object.freeze(/** @type {Record<number, string>} */ ({ 410: 'closed', 425: 'not_open', 422: 'other_body' }))

/**
 * @param {string} technique @param {{ redisUrl: string, keyPrefix: string }} place
 * @returns {Promise<import('./techniques.js').Technique>}
 */
export async function openOverHttp (technique, place) {
  const gateway = await startOpened('a gateway of the lab', GATEWAY, { technique, ...place })
  const { ask } = gateway
  const counts = { calls: 0, attempts: 0, gatewayCpuMicros: 0 }
  /** @type {ReturnType<typeof openLine>[]} */
  const free = []
  /** @type {ReturnType<typeof openLine>[]} */
  const all = []

  function lineOf () {
    const known = free.pop()
    if (known) return known
    const line = openLine(new URL(gateway.url))
    all.push(line)
    return line
  }

  return {
    counts,

    async submit (command) {
      const { key, scope, requestId, args: [op, user, amount] } = command
      if (op !== 'bid') return (await ask('submit', { command })).decision
      const body = `{"userId":"${user}","amount":"${amount.slice(0, -2)}.${amount.slice(-2)}"}`
      const line = lineOf()
      const reply = await line.post(`/v1/auctions/${key}/bids`, `${scope}-${requestId}`, body)
      free.push(line)
      return decisionIn(reply)
    },

    stored: async (key) => (await ask('stored', { key })).stored,

    async look () {
      const [{ counts: now }, { cpuSeconds }] = await Promise.all([ask('counts'), gateway.usage()])
      return Object.assign(counts, now, { gatewayCpuMicros: cpuSeconds * 1e6 })
    },

    async close () {
      for (const line of all) line.close()
      await gateway.stop()
    }
  }
}

/** @param {{ status: number, isReplay: boolean, body: any }} reply @returns {import('../../../src/admission/index.js').Answer} */
function decisionIn ({ status, isReplay, body }) {
  if (status === 503 || status === 0) throw new Error(`status ${status}`)
  const minor = (/** @type {string} */ text) => text.replace('.', '')
  const details = {
    ...(body.currentBid ? { currentBid: minor(body.currentBid) } : {}), ...(body.minNext ? { minNext: minor(body.minNext) } : {})
  }
  return {
    code: CODES[status] ?? body.code, seq: body.seq ?? body.decidedAtSeq ?? 0, version: 0, isReplay, generation: '', now: 0, details
  }
}
