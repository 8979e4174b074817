/**
 * A refresh, by the process that owns the partition of the asset: all sources are asked at once, what they say becomes one price or a
 * failure, and rule `latest` stores it and plans the next refresh.
 *
 * An older owner that goes on is harmless: its refresh began earlier, so the rule refuses it.
 */
import { aggregate, QUORUM } from './aggregate.js'
import { TIERS } from './names.js'

const RULE = 'latest'

/** @param {any[]} flat a reply to HGETALL @returns {Record<string, string>} */
const fieldsIn = (flat) => Object.fromEntries(flat.flatMap((name, i) => i % 2 === 0 ? [[String(name), String(flat[i + 1])]] : []))

/** @param {string} tier @param {string} tiers refresh, soft and hard ms of each @returns {number} hard */
const hardMsOf = (tier, tiers) => Number(tiers.split(' ')[3 * TIERS.indexOf(tier) + 2])

/**
 * @param {object} parts
 * @param {Pick<import('./sources/sources.js').Sources, 'ticks' | 'noteOld'>} parts.sources
 * @param {Pick<import('freshet-feed/systems').ConsumerParts, 'submit' | 'partitionOf' | 'keyOf'>} parts.admission
 * @param {import('freshet-feed/systems').ConsumerParts['connectionOf']} parts.connectionOf the primary
 * @param {(outcome: string, seconds: number) => void} parts.onRefresh `outcome`: price, stale, all_failed, no_quorum, moved,
 *   not_stored
 * @returns {(asset: string) => Promise<void>} errors: the primary does not answer
 */
export function createRefresher ({ sources, admission: { submit, partitionOf, keyOf }, connectionOf, onRefresh }) {
  return async (asset) => {
    const partition = partitionOf(asset)
    const since = performance.now()
    const [[seconds, micros], flat] = await connectionOf(partition)
      .sendAll([['TIME'], ['HGETALL', keyOf(partition)(`state:${asset}`)]])
    const startedMs = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
    const { price, hard, candidate, tier, tiers } = fieldsIn(flat)
    const ticks = await sources.ticks(asset)
    const found = aggregate(ticks, {
      nowMs: Math.floor(startedMs + performance.now() - since),
      last: price ? { price, hard: Number(hard) } : null,
      candidate: candidate?.startsWith('{') ? JSON.parse(candidate) : null,
      hardMs: hardMsOf(tier, tiers),
      quorum: Math.min(QUORUM, ticks.length)
    })
    for (const { exchange, reason } of found.sources) if (reason === 'old') sources.noteOld(exchange)
    const sourcesText = JSON.stringify(found.sources)
    const args = 'failure' in found
      ? ['fail', String(startedMs), found.failure, found.candidate ? JSON.stringify(found.candidate) : '', sourcesText]
      : ['price', String(startedMs), found.price, sourcesText, String(found.asOf)]
    const { code } = await submit({ rule: RULE, key: asset, scope: '', requestId: '', args }).catch((error) => {
      onRefresh('not_stored', (performance.now() - since) / 1000)
      throw error
    })
    onRefresh(code === 'accepted' ? 'failure' in found ? found.failure : 'price' : code, (performance.now() - since) / 1000)
  }
}
