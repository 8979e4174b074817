/**
 * Rule `latest`, the newest price of an asset: lua/rules/latest.lua.
 *
 * @typedef {import('./index.js').Fields} Fields
 */

/**
 * The state after an event, of a state before it.
 * @param {Fields} state is changed; version, demand and what was wanted are not kept up to date
 * @param {Fields} event
 * @returns {boolean} always true: an event says everything that readers serve
 */
export function foldLatest (state, { type, seq, at, asOf = at, price, sources, soft, hard, tier, pinned, reason, retryAt, candidate }) {
  if (type === 'price') {
    const ok = { failures: '0', reason: '', candidate: '', retryAt: '0' }
    Object.assign(state, { seq, price, ts: at, asOf, sources, soft, hard, tier }, ok)
  } else if (type === 'failed') {
    const failures = String(Number(state.failures) + 1)
    Object.assign(state, { seq, failedAt: at, failures, reason, retryAt, candidate, failedSources: sources, tier })
  } else if (type === 'tier') Object.assign(state, { seq, tier, pinned })
  return true
}
