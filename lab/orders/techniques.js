/**
 * Ways to drive orders:
 *
 *     single          the product with one partition: one owner drives all, other replicas wait
 *     partitions-N    the product with N partitions, which its replicas share
 *     noop            each order is confirmed when it is placed, in the memory of one process
 *     local-state     as published: each replica holds its own orders, and any replica takes any message (local.js)
 *     bullmq          each order is a job of the library BullMQ (bullmq.js)
 */
export const PARTITIONS = Object.freeze(/** @type {Record<string, number>} */ ({ single: 1, 'partitions-4': 4, 'partitions-16': 16 }))
export const LOCAL = 'local-state'
export const BULLMQ = 'bullmq'
export const NOOP = 'noop'
export const TECHNIQUES = Object.freeze([...Object.keys(PARTITIONS), LOCAL, BULLMQ, NOOP])

/** Whether it is the product. @param {string} technique */
export const isProduct = (technique) => technique in PARTITIONS
