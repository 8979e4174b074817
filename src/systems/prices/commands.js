/**
 * Commands of prices: assets, their tiers, and refreshes on demand.
 *
 * @typedef {{ status: number, body: Record<string, unknown>, isReplay: boolean }} Reply
 * @import { Command, Decision, Given, State, System, Waits } from 'freshet-feed/systems'
 * @typedef {{ tier: string | null, pinned: boolean | null }} Keeping null: as it is
 */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { decisions, fields, FreshetError, schemas, SettingsInvalid } from 'freshet-feed/systems'
import { assetOf, TIERS } from './settings.js'

/** Assets of a file: created when the gateway starts, and again whenever the primary is another one, which may have lost them. */

const LOOK_EVERY_MS = 1000
const AT_ONCE = 256

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
  return list.map((entry, i) => {
    try {
      const { asset, tier, pinned } = fields.read(Object(entry), ENTRY)
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
 * @param {{ prices: Prices, primaryIds: () => Promise<string>, log: import('pino').Logger,
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
      log.info({ assets: assets.length }, 'assets loaded from file')
    } catch (error) {
      const { code, message: reason } = error
      if (error.retryable) log.debug({ code, reason }, 'assets wait for the primary')
      else log.warn({ code, reason }, 'assets of the file cannot be kept')
    }
  }
}

const { id: ID, objectOf, seq: SEQ, time: TIME } = schemas
const RULE = 'latest'
const PHASES = 1000
/** Longest wait for a refresh: sources answer within 0.4 s, after a queue. */
const REFRESH_WITHIN_MS = 2000

const KEEPING = {
  tier: fields.optional(fields.choice(...TIERS)('how often it is refreshed; without it, as it is, or cold')),
  pinned: fields.optional(fields.flag('whether it stays in that tier, however often it is asked for'))
}
const ENTRY = { asset: fields.id(''), ...KEEPING }
const ASSET = objectOf({
  asset: ID, tier: { type: 'string', description: 'the one in effect' }, pinned: { type: 'boolean' }, seq: SEQ
})
const REFRESHED = objectOf({
  asset: ID,
  status: { type: 'string', enum: ['refreshed', 'in_progress', 'too_soon'] },
  price: { type: 'string' },
  updatedAt: TIME,
  seq: SEQ
})

/** @type {System['commands']} */
export const COMMANDS = {
  set: {
    method: 'PUT',
    path: '/v1/assets/:asset',
    access: 'admin',
    summary: 'Keep the price of an asset, or change its tier',
    body: KEEPING,
    schemas: { 200: ASSET, 201: ASSET },
    codes: [],
    run: ({ params: { asset }, body, requestId }, prices) => prices.set(assetOf(asset), body, requestId)
  },
  refresh: {
    path: '/v1/prices/:asset/refresh',
    summary: 'Refresh now; 202: one is in progress, or the last one was a moment ago',
    schemas: { 200: REFRESHED, 202: REFRESHED },
    codes: ['ASSET_UNKNOWN', 'PRICE_SOURCES_FAILED', 'PRICE_REFRESH_LATE'],
    run: refresh
  }
}

/** @type {Parameters<typeof decisions.taken>[1]} */
const REFUSED = { unknown: ['ASSET_UNKNOWN', 'there is no asset with this id; PUT /v1/assets/:asset creates it'] }

/** When an asset is refreshed within its interval. @param {string} asset */
const phaseOf = (asset) => String(hash('sha256', asset, 'buffer').readUInt32BE() % PHASES)
const pinnedText = (/** @type {boolean | null} */ pinned) => pinned === null ? '' : pinned ? '1' : '0'

/** @param {string} tiers in seconds, as setting `tiers` @returns {string} the nine times in ms, as rule `latest` takes them */
export const timesOf = (tiers) => (tiers.match(/[\d.]+/g) ?? []).map((seconds) => Math.round(1000 * Number(seconds))).join(' ')

/** The reply of an accepted command. @param {string} asset @param {Decision} decision @returns {Reply} */
export const replyOf = (asset, { code, seq, isReplay, details: { tier, pinned } }) => tier === undefined
  ? { status: 202, body: { asset, status: 'in_progress' }, isReplay: true }
  : { status: code === 'created' ? 201 : 200, body: { asset, tier, pinned: pinned === '1', seq }, isReplay }

/** @typedef {ReturnType<typeof createPrices>} Prices */

/**
 * What commands run on.
 * @param {{ submit: (command: Command) => Promise<Decision>, stateOf: (asset: string) => Promise<State>, tiers: string,
 *   waits: Pick<Waits, 'until'> }} parts `stateOf`: from the primary; `tiers`: intervals and expiries (timesOf);
 *   `waits`: resolve when an event of an asset arrives
 */
export function createPrices ({ submit, stateOf, tiers, waits }) {
  /** @param {string} asset @param {string[]} args @param {string} requestId or empty */
  const run = async (asset, args, requestId) =>
    decisions.taken(await submit({ rule: RULE, key: asset, scope: '', requestId, args }), REFUSED)

  return {
    run,
    stateOf,
    waits,

    /**
     * Creates an asset, or changes it.
     * @param {string} asset @param {Keeping} keeping @param {string} requestId or empty
     * @returns {Promise<Reply>}
     */
    set: async (asset, { tier, pinned }, requestId) =>
      replyOf(asset, await run(asset, ['set', tier ?? '', pinnedText(pinned), tiers, phaseOf(asset)], requestId))
  }
}

/** Refreshes now, and waits for the outcome. @param {Given} request @param {Prices} prices */
async function refresh ({ params, requestId }, { run, stateOf, waits }) {
  const asset = assetOf(params.asset)
  const { code, isReplay } = await run(asset, ['force'], requestId)
  if (code !== 'accepted') return { status: 202, body: { asset, status: code }, isReplay }
  const { wantedUntil, failures, reason, price, ts, seq, retryAt } =
    await waits.until(asset, () => stateOf(asset), (state) => state.wantedUntil === '0', REFRESH_WITHIN_MS)
  if (wantedUntil !== '0') {
    throw new FreshetError('PRICE_REFRESH_LATE', `the refresh did not end within ${REFRESH_WITHIN_MS} ms; do consumers of prices run?`)
  }
  if (failures === '0') {
    return { status: 200, body: { asset, status: 'refreshed', price, updatedAt: Number(ts), seq: Number(seq) }, isReplay }
  }
  throw new FreshetError('PRICE_SOURCES_FAILED', `the refresh found no price: ${reason}`, { reason, retryAt: Number(retryAt) })
}
