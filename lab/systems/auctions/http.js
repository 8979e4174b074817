/**
 * A technique behind HTTP: a gateway of the lab (gateway-process.js) decides, and this process sends bids over keep-alive connections.
 *
 *     submit -> a free connection -> POST /v1/auctions/:id/bids -> the technique in the gateway
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { openLine } from '../../serving/line.js'

const GATEWAY = fileURLToPath(new URL('gateway-process.js', import.meta.url))
const CODES = Object.freeze(/** @type {Record<number, string>} */ ({ 410: 'closed', 425: 'not_open', 422: 'other_body' }))

/**
 * @param {string} technique @param {{ redisUrl: string, keyPrefix: string }} place
 * @returns {Promise<import('./techniques.js').Technique>}
 */
export async function openOverHttp (technique, place) {
  const gateway = fork(GATEWAY, [], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  const counts = { calls: 0, attempts: 0, gatewayCpuMicros: 0 }
  const exited = once(gateway, 'exit')
  const { url } = await ask({ event: 'start', technique, ...place }, 'up')
  gateway.on('message', (/** @type {any} */ message) => { if (message.event === 'counts') Object.assign(counts, message.counts) })
  /** @type {ReturnType<typeof openLine>[]} */
  const free = []
  /** @type {ReturnType<typeof openLine>[]} */
  const all = []

  /** @param {object} message @param {string} event of the reply @returns {Promise<any>} */
  function ask (message, event) {
    return new Promise((resolve, reject) => {
      const take = (/** @type {any} */ reply) => {
        if (reply.event !== event) return
        gateway.off('message', take)
        resolve(reply)
      }
      gateway.on('message', take)
      exited.then(([status]) => reject(new Error(`the gateway of the lab ended with status ${status}`)))
      gateway.send(message, (error) => { if (error) reject(error) })
    })
  }

  function lineOf () {
    const known = free.pop()
    if (known) return known
    const line = openLine(new URL(url))
    all.push(line)
    return line
  }

  return {
    counts,

    async submit (command) {
      const { key, scope, requestId, args: [op, user, amount] } = command
      if (op !== 'bid') return (await ask({ event: 'submit', command }, 'decided')).decision
      const body = `{"userId":"${user}","amount":"${amount.slice(0, -2)}.${amount.slice(-2)}"}`
      const line = lineOf()
      const reply = await line.send(`POST /v1/auctions/${key}/bids HTTP/1.1\r\nhost: lab\r\ncontent-type: application/json\r\n` +
        `idempotency-key: ${scope}-${requestId}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
      free.push(line)
      return decisionIn(reply)
    },

    async stored (key) { return (await ask({ event: 'stored', key }, 'stored')).stored },

    async close () {
      for (const line of all) line.close()
      gateway.disconnect()
      await exited
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
