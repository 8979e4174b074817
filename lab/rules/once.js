/**
 * Rule `once`: the same as lua/rules/once.lua.
 *
 * @typedef {import('./index.js').Rule} Rule
 */

/** @type {Record<string, Rule>} */
const OPS = {
  create (state, [, about]) {
    if (state.status !== undefined) return { code: 'exists', details: [] }
    Object.assign(state, { status: 'open', about, seq: '1' })
    return { code: 'created', details: [], change: { events: [['seq', '1', 'type', 'created', 'about', about]], keeps: 0 } }
  }
}

/** @type {Rule} */
export const once = (state, args, now, read) => OPS[args[0]](state, args, now, read)
