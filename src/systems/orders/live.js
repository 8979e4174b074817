/** An order as server-sent events: `snapshot` (the order), `step`, and `reset` (../live.js). */
import { createLive } from '../live.js'
import { orderKey } from './keys.js'
import { orderOf, stepOf } from './replies.js'

/**
 * @param {{ queries: import('./queries.js').OrderQueries, view: import('../../admission/index.js').KeyView,
 *   push: import('../../push/index.js').Push, log: import('pino').Logger }} parts
 */
export const createOrderLive = ({ queries, ...parts }) => createLive({
  ...parts,
  known: queries.known,
  keyOf: orderKey,
  shown: { snapshot: orderOf, event: (event) => ({ name: 'step', data: stepOf(event) }) }
})
