/** Exchanges, a gateway, consumers and a reader with prices, for tests. */
import { runCommand, runConsumers, runGateway, runReader } from '../../commands.js'
import { startDeployment } from '../../servers.js'

const PARTITIONS = Object.freeze(['--system-partitions', '2'])
/** so short that refreshes and expiries are seen; hot is refreshed by itself, cold only when asked for */
export const TIERS = 'hot=0.5/1/4,medium=1/2/8,cold=60/120/240'
export const EXCHANGES = Object.freeze(['alpha', 'beta', 'gamma'])

/** Three local exchanges. @param {import('tap').Test} t @param {string[]} [flags] */
export async function startExchanges (t, flags = []) {
  const command = runCommand(t, ['exchanges', '--port', '0', '--latency-ms', '1', ...flags])
  await command.until(/exchange gamma \S+/)
  const urls = Object.fromEntries([...command.stdout.matchAll(/^exchange (\w+) (\S+)$/gm)].map(([, name, url]) => [name, url]))

  /** @param {string} name @param {string} method @param {string} path @param {object} [body] */
  async function send (name, method, path, body) {
    // a connection that was idle may end just then
    const response = await fetch(urls[name] + path, { method, body: body && JSON.stringify(body), headers: { connection: 'close' } })
    const text = await response.text()
    if (!response.ok) throw new Error(`${response.status} ${text}`)
    return text === '' ? null : JSON.parse(text)
  }
  return {
    urls,
    flags: ['--exchanges', 'local', '--exchange-urls', Object.entries(urls).map((one) => one.join('=')).join(',')],
    command,
    /** @param {string[]} names @param {object | null} faults null: none */
    faults: (names, faults) => Promise.all(names.map((name) => send(name, faults ? 'PUT' : 'DELETE', '/faults', faults ?? undefined))),
    /** Calls of each exchange for an asset so far. @param {string} asset @returns {Promise<number[]>} */
    calls: (asset) => Promise.all(EXCHANGES.map(async (name) => (await send(name, 'GET', '/calls')).symbols[asset] ?? 0))
  }
}

/** @param {string} url of a reader @param {(path: string, headers?: Record<string, string>) => Promise<any>} get */
export const pricesAt = (url, get) => ({
  url,
  /** @param {string} asset @param {Record<string, string>} [headers] */
  price: (asset, headers) => get(`/v1/prices/${asset}`, headers),
  /** @param {string} asset @param {string} query */
  history: (asset, query) => get(`/v1/prices/${asset}/history${query}`)
})

/**
 * @param {import('tap').Test} t
 * @param {{ engine: import('../../servers.js').Engine, readers?: number, readerFlags?: string[], consumerFlags?: string[],
 *   gatewayFlags?: string[], tiers?: string, env?: Record<string, string> }} options `env`: of readers and consumers
 */
export async function startPrices (t, {
  engine, readers = 1, readerFlags = [], consumerFlags = [], gatewayFlags = [], tiers = TIERS, env = {}
}) {
  const exchanges = await startExchanges(t)
  const { primary } = await startDeployment(t, { engine, replicas: 1 })
  const redisUrl = primary.url
  const ownerFlags = ['--systems', 'prices', ...PARTITIONS, ...exchanges.flags, ...consumerFlags]
  const [gateway, owner, ...all] = await Promise.all([
    runGateway(t, { redisUrl, flags: ['--tiers', tiers, ...PARTITIONS, ...gatewayFlags] }),
    runConsumers(t, { redisUrl, flags: ownerFlags, env }),
    ...Array.from({ length: readers }, () => runReader(t, { redisUrl, flags: readerFlags, env }))
  ])
  const reading = all.map(({ url, get }) => ({ ...pricesAt(url, get), get }))
  return {
    primary,
    exchanges,
    owner,
    /** One more process of consumers; it may own nothing yet. */
    startOwner: () => runCommand(t, ['consumers', '--redis-url', redisUrl, ...ownerFlags]),
    readers: reading,
    reader: reading[0],
    gateway: {
      ...gateway,
      /** @param {string} asset @param {object} [place] */
      asset: (asset, place = {}) =>
        gateway.send('PUT', `/v1/assets/${asset}`, JSON.stringify(place), { 'content-type': 'application/json' }),
      /** @param {string} asset @param {Record<string, string>} [headers] */
      refresh: (asset, headers = {}) => gateway.send('POST', `/v1/prices/${asset}/refresh`, undefined, headers)
    }
  }
}
