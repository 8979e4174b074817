/**
 * Rule `bounded`: the same as lua/rules/bounded.lua, in files by subject as there.
 *
 * @typedef {import('../index.js').Fields} Fields
 * @typedef {import('../index.js').Rule} Rule
 */
import { CLAIM_OPS } from './claims.js'
import { QUEUE_OPS } from './queue.js'
import { isRestoring, RESTORE_OPS, RESTORING } from './restore.js'
import { SALE_OPS } from './sale.js'
import { detailsOf } from './units.js'

const OPS = { ...SALE_OPS, ...CLAIM_OPS, ...QUEUE_OPS, ...RESTORE_OPS }

/** @type {Rule} */
export function bounded (state, args, now, read) {
  if (args[0] !== 'create' && state.status === undefined) return { code: 'unknown', details: [] }
  if (isRestoring(state, read) && !RESTORING.includes(args[0])) return { code: 'restoring', details: detailsOf(state) }
  return OPS[args[0]](state, args, now, read)
}
