/**
 * Ways to drive orders:
 *
 *     single          the product with one partition: one owner drives all, other replicas wait
 *     partitions-16   the product with 16 partitions, which its replicas share
 *     unbatched       partitions-16, but each command is a call of its own
 *     polled          partitions-16, but an order is driven at the next whole second (lab/systems/orders/polling-consumers.js)
 *     noop            each order is confirmed when it is placed, in the memory of one process
 *     local-state     each replica holds its own orders, and any replica takes any message (local.js)
 *     bullmq          each order is a job of the library BullMQ (bullmq.js)
 */
export const POLLED = 'polled'
const UNBATCHED = 'unbatched'
/** of the product @type {Readonly<Record<string, number>>} */
export const PARTITIONS = Object.freeze({ single: 1, 'partitions-16': 16, [UNBATCHED]: 16, [POLLED]: 16 })
export const LOCAL = 'local-state'
export const BULLMQ = 'bullmq'
export const NOOP = 'noop'
export const TECHNIQUES = Object.freeze([...Object.keys(PARTITIONS), LOCAL, BULLMQ, NOOP])

/** Whether it is the product. @param {string} technique */
export const isProduct = (technique) => technique in PARTITIONS

/** Of its gateways and consumers. @param {string} technique */
export const flagsOf = (technique) =>
  ['--system-partitions', String(PARTITIONS[technique]), ...(technique === UNBATCHED ? ['--batches', 'no'] : [])]
