/** Assets of a file: created when the gateway starts, and again whenever the primary is another one, which may have lost them. */
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { fields, SettingsInvalid } from 'freshet-feed/systems'
import { KEEPING } from './commands.js'
import { assetOf } from './names.js'

const LOOK_EVERY_MS = 1000
const AT_ONCE = 256
const ENTRY = { asset: fields.id(''), ...KEEPING }

/** @typedef {{ asset: string, tier: string | null, pinned: boolean | null }} Asset */

/**
 * @param {string} file a JSON array
 * @returns {Asset[]}
 * @throws {SettingsInvalid}
 */
export function readAssets (file) {
  const invalid = (/** @type {string} */ why) => new SettingsInvalid([`assets: ${file}: ${why}; expected a JSON array such as ` +
    '[{"asset": "btc-usd", "tier": "hot", "pinned": false}]'])
  let list
  try {
    list = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    throw invalid(error.message)
  }
  if (!Array.isArray(list)) throw invalid('not an array')
  const seen = new Set()
  return list.map((one, i) => {
    try {
      const { asset, tier, pinned } = fields.read(Object(one), ENTRY)
      if (seen.has(assetOf(asset))) throw new Error(`asset ${asset} is there twice`)
      seen.add(assetOf(asset))
      return { asset: assetOf(asset), tier, pinned }
    } catch (error) {
      throw invalid(`entry ${i + 1}: ${error.message}`)
    }
  })
}

/**
 * @param {Asset[]} assets
 * @param {{ prices: import('./commands.js').Prices, primaryIds: () => Promise<string>, log: import('pino').Logger,
 *   signal: AbortSignal }} parts `primaryIds`: their replication ids; throws while one is away
 */
export async function keepAssets (assets, { prices, primaryIds, log, signal }) {
  for (let keptOn = ''; !signal.aborted; await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {})) {
    try {
      const id = await primaryIds()
      if (id === keptOn) continue
      for (let i = 0; i < assets.length; i += AT_ONCE) {
        await Promise.all(assets.slice(i, i + AT_ONCE).map(({ asset, ...keeping }) => prices.set(asset, keeping, '')))
      }
      keptOn = id
      log.info({ assets: assets.length }, 'assets of the file are kept')
    } catch (error) {
      const { code, message: reason } = error
      if (error.retryable) log.debug({ code, reason }, 'assets wait for the primary')
      else log.warn({ code, reason }, 'assets of the file cannot be kept')
    }
  }
}
