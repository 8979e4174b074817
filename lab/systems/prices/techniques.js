/**
 * Ways to keep prices, behind one interface, as a gateway of the lab serves them (gateway-process.js).
 *
 * @typedef {'local' | 'server' | 'stale' | 'origin' | 'none'} Level where a price was found
 * @typedef {{ status: number, level: Level, body: string | Buffer, headers?: Record<string, string> }} Reply
 * @typedef {{ asset: string, price: string | null, updatedAt: number, tier: string, seq: number, sources: object[] }} Price
 * @typedef {{ redisUrl: string, keyPrefix: string, urls: Record<string, string>, tiers: string, isUncached: boolean, fills: boolean,
 *   isFirst: boolean }} Place `urls` of the exchanges; `isUncached`: nothing is kept, each request fetches; `fills`: all arms fill their
 *   cache before the load; `isFirst` of several gateways
 * @typedef {object} Technique
 * @property {(assets: string[]) => Promise<void>} begin from now on these assets are known
 * @property {(asset: string) => Promise<Reply>} price
 * @property {(assets: string[]) => Promise<Record<string, Stored>>} [stored]
 * @property {() => number} [fetches] so far, by this process
 * @property {() => Promise<void>} close
 * @typedef {{ failed: number, prices: { version: number, price: string, at: number }[] }} Stored events of an asset
 */
import { CACHED_ARMS, openCachedArm } from './cached.js'
import { openPeer, PEERS } from './peers.js'
import { openProductArm, PRODUCT_ARMS } from './product.js'
import { createPlainSources, NO_PRICE, replyOf } from './sources.js'

export const TECHNIQUES = Object.freeze(['noop', ...Object.keys(CACHED_ARMS), ...PRODUCT_ARMS, ...PEERS])

/** Whether consumers refresh, once for all gateways. @param {string} technique */
export const isScheduled = (technique) => PRODUCT_ARMS.includes(technique)

/** The limit: constant bytes. @type {Technique} */
const NOOP = {
  async begin () {},
  price: async (asset) =>
    ({ status: 200, level: 'local', body: `{"asset":"${asset}","price":"1","updatedAt":0,"seq":0,"sources":[]}` }),
  fetches: () => 0,
  async close () {}
}

/** @param {string} technique one of TECHNIQUES @param {Place} place @returns {Promise<Technique>} */
export async function openTechnique (technique, place) {
  if (technique === 'noop') return NOOP
  if (PRODUCT_ARMS.includes(technique)) return openProductArm(technique, place)
  const sources = createPlainSources({ urls: place.urls, isSequential: CACHED_ARMS[technique]?.isSequential })
  const { begin, find, close } = await (PEERS.includes(technique) ? openPeer : openCachedArm)(technique, place, sources)
  return {
    begin,
    async price (asset) {
      const { price, level } = await find(asset)
      return price ? replyOf(price, level) : NO_PRICE
    },
    fetches: () => sources.fetches,
    async close () {
      await close()
      sources.close()
    }
  }
}
