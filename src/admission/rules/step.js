/**
 * Rule `step`, an order: lua/rules/step.lua.
 *
 * @typedef {import('./index.js').Fields} Fields
 */

/**
 * The state after an event, of a state before it.
 * @param {Fields} state is changed @param {Fields} event
 * @returns {boolean} false: the event does not say everything
 */
export function foldStep (state, { type, seq, status, reason, parked }) {
  if (type === 'placed') return false
  if (type === 'wanted' || type === 'resume') return true
  Object.assign(state, { seq, status, reason, parked: parked ?? '' })
  return true
}
