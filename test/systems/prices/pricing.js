/** Exchanges, a gateway, consumers and a reader with prices, for tests. */
import { createExchange } from '../../../demo/exchanges/server.js'
import { silentLog } from '../../servers.js'
import { startConsumers, startGateway, startReader } from '../../services.js'
import { startKillableConsumers } from '../killable-consumers.js'

const PARTITIONS = Object.freeze(['--system-partitions', '2'])
/** so short that refreshes and expiries are seen; hot is refreshed by itself, cold only when asked for */
export const TIERS = 'hot=0.5/1/4,medium=1/2/8,cold=60/120/240'
export const EXCHANGES = Object.freeze(['alpha', 'beta', 'gamma'])

/** Three local exchanges, in this process. @param {import('tap').Test} t */
export async function startExchanges (t) {
  const urls = Object.fromEntries(await Promise.all(EXCHANGES.map(async (name) => {
    const exchange = createExchange({ name, seed: 1, tickMs: 1000, latencyMs: 1, log: silentLog })
    t.teardown(() => exchange.close())
    return [name, await exchange.listen({ host: '127.0.0.1', port: 0 })]
  })))

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
 * @param {{ primary: { url: string }, keyPrefix?: string, readers?: number, readerFlags?: string[], consumerFlags?: string[],
 *   gatewayFlags?: string[], tiers?: string, isKilled?: boolean }} options `isKilled`: consumers are a process of their own, with short
 *   leases
 */
export async function startPrices (t, {
  primary, keyPrefix = 'fr:', readers = 1, readerFlags = [], consumerFlags = [], gatewayFlags = [], tiers = TIERS, isKilled = false
}) {
  const exchanges = await startExchanges(t)
  const place = { redisUrl: primary.url, keyPrefix }
  const ownerFlags = ['--systems', 'prices', ...PARTITIONS, ...exchanges.flags, ...consumerFlags]
  const [gateway, killable, ...all] = await Promise.all([
    startGateway(t, { ...place, flags: ['--tiers', tiers, ...PARTITIONS, ...gatewayFlags] }),
    isKilled
      ? startKillableConsumers(t, { ...place, flags: ownerFlags })
      : startConsumers(t, { ...place, flags: ownerFlags }).then(() => null),
    ...Array.from({ length: readers }, () => startReader(t, { ...place, flags: readerFlags }))
  ])
  const reading = all.map(({ url, get }) => ({ ...pricesAt(url, get), get }))
  return {
    exchanges,
    /** With `isKilled`. */
    owner: /** @type {import('../killable-consumers.js').KillableConsumers} */ (killable),
    /** One more process of consumers; it may own nothing yet. */
    startOwner: () => startKillableConsumers(t, { ...place, flags: ownerFlags, isOwner: false }),
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
