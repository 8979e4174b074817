/** A gateway, a reader, consumers and a payment provider with orders, for tests. */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { createPaymentServer, openLedger } from '../../../demo/payments/server.js'
import { resolve } from '../../../settings.js'
import { listen } from '../../../src/http/index.js'
import { runCommand, runConsumers, runGateway } from '../../commands.js'
import { eventually, silentLog } from '../../servers.js'
import { startConsumers, startGateway, startReader } from '../../services.js'
import { startKillableConsumers } from '../killable-consumers.js'

const JSON_HEADERS = { 'content-type': 'application/json' }
export const SECRET = 'whsec_test'
/** A process whose clock is wrong. @param {number} byMs */
export const clockOff = (byMs) =>
  ({ NODE_OPTIONS: `--import=data:text/javascript,const%20now=Date.now;Date.now=()=>now()+${byMs}` })

/** so many that each of a few processes has some */
export const PARTITIONS = ['--system-partitions', '16']

/**
 * The local payment provider on a free port, in this process.
 * @param {import('tap').Test} t @param {{ flags?: string[], port?: number }} [options] `flags` of the command
 */
export async function startPayments (t, { flags = [], port = 0 } = {}) {
  const secret = flags.includes('--payment-secret') ? [] : ['--payment-secret', SECRET]
  /** @type {any} */
  const settings = resolve([...secret, ...flags], {}, { command: 'payments', layouts: [], acks: [] })
  const ledger = openLedger(settings.ledger)
  const app = createPaymentServer({ ...settings, secret: settings.paymentSecret, ledger, log: silentLog })
  t.teardown(async () => {
    await app.close()
    ledger.close()
  })
  const url = await listen(app, { host: '127.0.0.1', port, setting: 'port' })
  return { url, ...askPayments(url) }
}

/**
 * `npm start payments` on a free port.
 * @param {import('tap').Test} t @param {{ flags?: string[] }} [options]
 */
export async function runPayments (t, { flags = [] } = {}) {
  const ledger = join(t.testdir(), 'ledger.ndjson')
  const command = runCommand(t, ['payments', '--port', '0', '--ledger', ledger, '--payment-secret', SECRET, ...flags])
  const [, url] = await command.until(/payments (http:\S+)/)
  return { command, ledger, url, ...askPayments(url) }
}

/** @param {string} url of a payment provider */
function askPayments (url) {
  /** @param {string} path @param {string} [method] @param {object} [body] */
  async function ask (path, method = 'GET', body) {
    const response = await fetch(url + path, { method, ...(body ? { body: JSON.stringify(body), headers: JSON_HEADERS } : {}) })
    return { status: response.status, json: /** @type {any} */ (await response.json()) }
  }
  return {
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
    product: (sku, { quantity = 10, price = '12.50' } = {}) =>
      post(`/v1/products/${sku}`, { name: `the ${sku}`, price, quantity }, null, 'PUT'),
    /** @returns {Promise<string>} its id */
    async customer () {
      const email = `c${process.pid}.${Date.now()}.${customers++}@example.org`
      const { status, json } = await post('/v1/customers', { email, name: 'Ann', address: 'Here 1' })
      if (status !== 201) throw new Error(`no customer: ${status} ${JSON.stringify(json)}`)
      return json.id
    },
    /** @param {string} customerId @param {any[]} lines @param {string} [key] */
    place: (customerId, lines, key) => post('/v1/orders', { customerId, lines, address: 'Here 1' }, key)
  }
}

/**
 * @typedef {object} Options
 * @property {string} databaseUrl
 * @property {Pick<import('../../servers.js').Server, 'url' | 'port'>} primary
 * @property {string} [keyPrefix]
 * @property {string[]} [gatewayFlags]
 * @property {number} [paymentTimeoutMs] of a call of the provider; short where replies are lost on purpose
 * @property {boolean} [isKilled] consumers are processes of their own, with short leases
 * @property {typeof runPayments | typeof startPayments} [payWith]
 * @property {number} [clockMs] gateway and consumers are commands whose clock is so far ahead
 * @property {import('../../proxy.js').Proxy | null} [proxy] through which all servers are reached
 */

/** @typedef {Awaited<ReturnType<typeof startKillableConsumers>>} Killable */

/** @param {import('tap').Test} t @param {Options} options */
export async function startOrders (t, {
  databaseUrl, primary, keyPrefix = 'fr:', gatewayFlags = [], paymentTimeoutMs = 500, isKilled = false, payWith = startPayments,
  clockMs = 0, proxy = null
}) {
  const place = { redisUrl: proxy?.url ?? primary.url, keyPrefix }
  const { redisUrl } = place
  const flags = ['--database-url', databaseUrl]
  const ofGateway = [...PARTITIONS, '--payment-secret', SECRET, ...gatewayFlags]
  const gateway = clockMs === 0
    ? await startGateway(t, { ...place, flags: ofGateway })
    : await runGateway(t, { redisUrl, env: clockOff(clockMs), flags: ['--key-prefix', keyPrefix, ...ofGateway] })
  const payments = await payWith(t, { flags: ['--callback-url', `${gateway.url}/v1/payments/callbacks`] })
  const paying = ['--payment-url', payments.url, '--payment-timeout-ms', `${paymentTimeoutMs}`]
  const ofConsumers = [...PARTITIONS, ...flags, '--systems', 'orders', ...paying]
  const startMore = () => startConsumers(t, { ...place, flags: ofConsumers })
  const startKillable = () => startKillableConsumers(t, { ...place, flags: ofConsumers })
  async function startFirst () {
    if (isKilled) return startKillable()
    await (clockMs === 0
      ? startMore()
      : runConsumers(t, { redisUrl, env: clockOff(clockMs), flags: ['--key-prefix', keyPrefix, ...ofConsumers] }))
    return null
  }
  const readerFlags = proxy ? [...flags, '--read-from', 'primary'] : flags
  const [reader, first] = await Promise.all([startReader(t, { ...place, flags: readerFlags }), startFirst()])
  const commands = orderCommands(gateway.send)

  /** @param {string} orderId @returns {Promise<any>} when it is final */
  const final = (orderId) => eventually(async () => {
    const { status, json } = await reader.get(`/v1/orders/${orderId}?waitMs=5000`)
    if (status !== 200) throw new Error(`${status}: ${JSON.stringify(json)}`)
    return json.status !== 'pending' && json
  })

  /** Places an order as a client does, which asks again with its key: on a busy machine a replica may be late. @returns its id */
  const placed = async (/** @type {string} */ customerId, /** @type {any[]} */ lines) => {
    const key = randomUUID()
    return eventually(async () => (await commands.place(customerId, lines, key)).json.id ?? false)
  }
  /** Places an order so, and waits for its end. @param {string} customerId @param {any[]} lines */
  const order = async (customerId, lines) => final(await placed(customerId, lines))
  /** @param {string} sku */
  const stock = async (sku) => (await reader.get(`/v1/products/${sku}`)).json
  return {
    redisUrl,
    keyPrefix,
    gateway,
    reader,
    /** With `isKilled`. */
    first: /** @type {Killable} */ (first),
    startMore,
    startKillable,
    payments,
    ...commands,
    final,
    order,
    placed,
    stock
  }
}
