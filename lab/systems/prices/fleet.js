/** The processes of a measurement: three exchanges, gateways, and for the product a process of consumers. */
import { fileURLToPath } from 'node:url'
import { join } from 'node:path'
import { ROOT } from '../../../src/embedded/index.js'
import { sumByName } from '../../analysis/counts.js'
import { FreshetError } from '../../errors.js'
import { startProcess } from '../../serving/process.js'
import { openProcess } from '../process.js'
import { PARTITIONS } from './product.js'
import { isScheduled } from './techniques.js'

const FRESHET = join(ROOT, 'bin/freshet.js')
const GATEWAY = fileURLToPath(new URL('gateway-process.js', import.meta.url))
const ALL_CALLS = 'since=999999999999999'
/** of the exchanges (demo/exchanges.js) */
export const SEED = 1
export const TICK_MS = 1000

/** @typedef {Record<string, Record<string, number>>} Calls of each exchange, by asset */
/** @typedef {Awaited<ReturnType<typeof startFleet>>} Fleet */

/**
 * @param {{ technique: string, count: number, redisUrl: string, keyPrefix: string, tiers: string, isUncached: boolean,
 *   fills: boolean, owners: number }} order `count` of gateways; `owners`: processes of consumers, of the product
 */
export async function startFleet ({ technique, count, owners, redisUrl, keyPrefix, ...rest }) {
  const env = { ...process.env, FRESHET_REDIS_URL: redisUrl, FRESHET_KEY_PREFIX: keyPrefix }
  const exchanges = startProcess('the exchanges', [FRESHET, 'exchanges', '--port', '0'], env)
  /** @type {import('../../serving/process.js').Process[]} */
  const all = [exchanges]
  const start = (/** @type {string} */ what, /** @type {string[]} */ args) => {
    const one = startProcess(what, args, env)
    all.push(one)
    return one
  }
  const close = async () => { await Promise.all(all.map((one) => one.stop())) }
  try {
    const { urls } = await exchanges.receive('up')
    const exchangeUrls = Object.entries(urls).map((one) => one.join('=')).join(',')
    const consumers = Array.from({ length: isScheduled(technique) ? owners : 0 }, () =>
      start('the consumers', [FRESHET, 'consumers', '--systems', 'prices', '--system-partitions', String(PARTITIONS),
        '--exchanges', 'local', '--exchange-urls', exchangeUrls, '--log-level', 'error']))
    const started = Array.from({ length: count }, () => start('a gateway of the lab', [GATEWAY]))
    await Promise.all(consumers.map((one) => one.receive('up')))
    const gateways = await Promise.all(started.map((one, n) =>
      openProcess(one, { technique, redisUrl, keyPrefix, urls, isFirst: n === 0, ...rest })))

    return {
      urls: gateways.map(({ url }) => new URL(url)),
      exchanges: /** @type {string[]} */ (Object.keys(urls)),
      /** Rejects when an exchange or a gateway ends. */
      ended: Promise.race([exchanges, ...gateways].map(({ ended }) => ended)),

      /** From now on these assets are known. @param {readonly string[]} assets */
      begin: async (assets) => { await Promise.all(gateways.map(({ ask }) => ask('begin', { assets }))) },

      /**
       * Replies sent by all gateways, by level, and how often they fetched a price.
       * @returns {Promise<{ replies: Record<string, number>, fetches: number | null }>} `fetches`: null: consumers do
       */
      async counts () {
        const each = await Promise.all(gateways.map(({ ask }) => ask('counts')))
        const fetches = each.every((one) => one.fetches !== null) ? each.reduce((sum, one) => sum + one.fetches, 0) : null
        return { replies: sumByName(each.map(({ counts }) => counts)), fetches }
      },

      /**
       * Events of the assets on the server.
       * @param {string[]} assets @returns {Promise<Record<string, import('./techniques.js').Stored> | null>} null: it stores none
       */
      stored: async (assets) => (await gateways[0].ask('stored', { assets })).stored,

      /** @param {string} exchange @param {object} faults */
      async fail (exchange, faults) {
        const response = await fetch(`${urls[exchange]}/faults`, { method: 'PUT', body: JSON.stringify(faults) })
        if (!response.ok) throw new FreshetError('LOAD_FAILED', `the exchange ${exchange} refused ${JSON.stringify(faults)}`)
      },

      /** @returns {Promise<Calls>} so far */
      calls: async () => Object.fromEntries(await Promise.all(Object.entries(urls).map(async ([name, url]) => {
        const response = await fetch(`${url}/calls?${ALL_CALLS}`)
        return [name, /** @type {any} */ (await response.json()).symbols]
      }))),

      /** Kills a process of consumers, if there is one. @returns {number | null} when, ms since 1970 */
      killOwner () {
        const [{ pid = 0 } = {}] = consumers.splice(0, 1)
        if (pid === 0) return null
        process.kill(pid, 'SIGKILL')
        return Date.now()
      },

      /** What the processes have used, of those that live. */
      async usage () {
        const each = (/** @type {import('../../serving/process.js').Process[]} */ those) => Promise.all(those.map((one) => one.usage()))
        const [ofExchanges, ofConsumers, ofGateways] = await Promise.all([exchanges.usage(), each(consumers), each(gateways)])
        return { exchanges: ofExchanges, consumers: ofConsumers, gateways: ofGateways }
      },
      close
    }
  } catch (error) {
    await close()
    throw error
  }
}
