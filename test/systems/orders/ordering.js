/** A gateway, a reader, consumers and a payment provider with orders, for tests. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runCommand, runConsumers, runGateway, runReader } from '../../commands.js'
import { startProxy } from '../../proxy.js'
import { eventually, startDeployment } from '../../servers.js'

const JSON_HEADERS = { 'content-type': 'application/json' }
export const SECRET = 'whsec_test'
/** A process whose clock is wrong. @param {number} byMs */
export const clockOff = (byMs) =>
  ({ NODE_OPTIONS: `--import=data:text/javascript,const%20now=Date.now;Date.now=()=>now()+${byMs}` })

/** so many that each of a few processes has some */
export const PARTITIONS = ['--system-partitions', '16']

/**
 * `npm start payments` on a free port, or again on the port and ledger of one that was killed.
 * @param {import('tap').Test} t @param {{ flags?: string[], ledger?: string, port?: string }} [options]
 */
export async function startPayments (t, { flags = [], ledger, port = '0' } = {}) {
  const folder = ledger === undefined ? await mkdtemp(join(tmpdir(), 'freshet-payments-')) : null
  if (folder) t.teardown(() => rm(folder, { recursive: true, force: true }))
  const file = ledger ?? join(String(folder), 'ledger.ndjson')
  const command = runCommand(t, ['payments', '--port', port, '--ledger', file, '--payment-secret', SECRET, ...flags])
  const [, url] = await command.until(/payments (http:\S+)/)
  /** @param {string} path @param {string} [method] @param {object} [body] */
  async function ask (path, method = 'GET', body) {
    const response = await fetch(url + path, { method, ...(body ? { body: JSON.stringify(body), headers: JSON_HEADERS } : {}) })
    return { status: response.status, json: /** @type {any} */ (await response.json()) }
  }
  return {
    command,
    url,
    ledger: file,
    ask,
    /** @param {object} faults */
    fail: (faults) => ask('/faults', 'PUT', faults),
    /** by the id of the order, without its time */
    entries: async () => (await ask('/ledger?limit=100000')).json.items.map((/** @type {any} */ one) =>
      ({ ...one, key: one.key.split('.')[0] })),
    totals: async () => (await ask('/ledger')).json.totals
  }
}

/** @param {(method: string, path: string, body?: string, headers?: Record<string, string>) => Promise<any>} send of a gateway */
export function orderCommands (send) {
  /** @param {string} path @param {any} body a text is sent as it is @param {string | null} [key] @param {string} [method] */
  const post = (path, body, key = null, method = 'POST') => send(method, path, typeof body === 'string' ? body : JSON.stringify(body),
    { ...(body === undefined ? {} : JSON_HEADERS), ...(key === null ? {} : { 'idempotency-key': key }) })
  let customers = 0
  return {
    post,
    /** @param {string} sku @param {{ quantity?: number, price?: string }} [product] */
    product: (sku, { quantity = 10, price = '12.50' } = {}) => post('/v1/products', { sku, name: `the ${sku}`, price, quantity }),
    /** @returns {Promise<string>} its id */
    async customer () {
      const email = `c${process.pid}.${Date.now()}.${customers++}@example.org`
      return (await post('/v1/customers', { email, name: 'Ann', address: 'Here 1' })).json.customerId
    },
    /** @param {string} customerId @param {any[]} lines @param {string} [key] */
    place: (customerId, lines, key) => post('/v1/orders', { customerId, lines, address: 'Here 1' }, key)
  }
}

/**
 * @param {import('tap').Test} t
 * @param {{ engine: import('../../servers.js').Engine, databaseUrl: string, gatewayFlags?: string[], consumerFlags?: string[],
 *   paymentFlags?: string[], serverArgs?: string[], env?: Record<string, string>, isProxied?: boolean }} options `env` of
 *   gateway and consumers; `isProxied`: all servers are reached through a proxy, which can switch to another
 */
export async function startOrders (t, {
  engine, databaseUrl, gatewayFlags = [], consumerFlags = [], paymentFlags = [], serverArgs = [], env = {}, isProxied = false
}) {
  const deployment = await startDeployment(t, { engine, replicas: 1, args: serverArgs })
  const { primary } = deployment
  const proxy = isProxied ? await startProxy(t, primary.port) : null
  const redisUrl = proxy?.url ?? primary.url
  const flags = ['--database-url', databaseUrl]
  const gateway = await runGateway(t, { redisUrl, env, flags: [...PARTITIONS, '--payment-secret', SECRET, ...gatewayFlags] })
  const payments = await startPayments(t, { flags: ['--callback-url', `${gateway.url}/v1/payments/callbacks`, ...paymentFlags] })
  const startMore = () => runConsumers(t, {
    redisUrl,
    env,
    flags: [...PARTITIONS, ...flags, '--systems', 'orders', '--payment-url', payments.url, '--payment-timeout-ms', '500', ...consumerFlags]
  })
  const readerFlags = isProxied ? [...flags, '--read-from', 'primary'] : flags
  const [reader, consumers] = await Promise.all([runReader(t, { redisUrl, flags: readerFlags }), startMore()])
  const commands = orderCommands(gateway.send)

  /** @param {string} orderId @returns {Promise<any>} when it is final */
  const final = (orderId) => eventually(async () => {
    const { status, json } = await reader.get(`/v1/orders/${orderId}?waitMs=5000`)
    if (status !== 200) throw new Error(`${status}: ${JSON.stringify(json)}`)
    return json.status !== 'pending' && json
  })

  /** Places an order, and waits for its end. @param {string} customerId @param {any[]} lines */
  const order = async (customerId, lines) => final((await commands.place(customerId, lines)).json.orderId)
  /** Places an order as a client does, which asks again with its key: on a busy machine a replica may be late. @returns its id */
  const placed = async (/** @type {string} */ customerId, /** @type {any[]} */ lines) => {
    const key = randomUUID()
    return eventually(async () => (await commands.place(customerId, lines, key)).json.orderId)
  }
  /** @param {string} sku */
  const stock = async (sku) => (await reader.get(`/v1/products/${sku}`)).json
  return { deployment, proxy, primary, redisUrl, gateway, reader, consumers, startMore, payments, ...commands, final, order, placed, stock }
}
