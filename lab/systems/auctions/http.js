/**
 * A technique behind HTTP: gateways of the lab (gateway-process.js) decide, and this process sends bids over keep-alive connections,
 * which are spread over them.
 *
 *     submit -> a free connection -> POST /v1/auctions/:id/bids -> the technique in a gateway
 *     read   -> a free connection -> GET /v1/auctions/:id       -> the same
 */
import { openLine } from '../../serving/line.js'
import { startOpened } from '../process.js'

const GATEWAY = new URL('gateway-process.js', import.meta.url)
const CODES = Object.freeze(/** @type {Record<number, string>} */ ({ 410: 'closed', 425: 'not_open', 422: 'other_body' }))

/**
 * @param {string} technique @param {{ redisUrl: string, keyPrefix: string }} place @param {number} [count] of gateways
 * @returns {Promise<import('./techniques.js').Technique>}
 */
export async function openOverHttp (technique, place, count = 1) {
  const gateways = await Promise.all(Array.from({ length: count }, () =>
    startOpened('a gateway of the lab', GATEWAY, { technique, ...place })))
  const [{ ask }] = gateways
  const counts = { calls: 0, attempts: 0, gatewayCpuMicros: 0 }
  /** @type {ReturnType<typeof openLine>[]} */
  const free = []
  /** @type {ReturnType<typeof openLine>[]} */
  const all = []

  /** @param {(line: ReturnType<typeof openLine>) => Promise<import('../../serving/line.js').LineReply>} work */
  async function onLine (work) {
    let line = free.pop()
    if (!line) all.push(line = openLine(new URL(gateways[all.length % count].url)))
    const reply = await work(line)
    free.push(line)
    return reply
  }

  return {
    counts,

    async submit (command) {
      const { key, scope, requestId, args: [op, user, amount] } = command
      if (op !== 'bid') return (await ask('submit', { command })).decision
      const body = `{"userId":"${user}","amount":"${amount.slice(0, -2)}.${amount.slice(-2)}"}`
      return decisionIn(await onLine((line) => line.post(`/v1/auctions/${key}/bids`, `${scope}-${requestId}`, body)))
    },

    read: async (key) => (await onLine((line) => line.get(`/v1/auctions/${key}`))).body.price ?? 0,

    stored: async (key) => (await ask('stored', { key })).stored,

    async look () {
      const each = await Promise.all(gateways.map(async (one) => ({ ...(await one.ask('counts')).counts, ...await one.usage() })))
      const sum = (/** @type {string} */ of) => each.reduce((total, one) => total + one[of], 0)
      return Object.assign(counts, { calls: sum('calls'), attempts: sum('attempts'), gatewayCpuMicros: sum('cpuSeconds') * 1e6 })
    },

    async close () {
      for (const line of all) line.close()
      await Promise.all(gateways.map((one) => one.stop()))
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
