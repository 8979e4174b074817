/**
 * Ways to drive orders:
 *
 *     single          the product with one partition: one owner drives all, other replicas wait
 *     partitions-16   the product with 16 partitions, which its replicas share
 *     noop            each order is confirmed when it is placed, in the memory of one process
 *     bullmq          each order is a job of the library BullMQ (bullmq.js)
 *     dbos            each order is a workflow of the library DBOS, in PostgreSQL alone (dbos.js)
 *     floor           PostgreSQL alone, one statement and one event a step (floor.js)
 */
/** of the product @type {Readonly<Record<string, number>>} */
export const PARTITIONS = Object.freeze({ single: 1, 'partitions-16': 16 })
export const BULLMQ = 'bullmq'
export const NOOP = 'noop'
const FLOOR = 'floor'
export const DBOS = 'dbos'
export const TECHNIQUES = Object.freeze([...Object.keys(PARTITIONS), BULLMQ, DBOS, FLOOR, NOOP])

/** Whether it is the product. @param {string} technique */
export const isProduct = (technique) => technique in PARTITIONS

/** Whether PostgreSQL is all that it has. @param {string} technique */
export const isOfSql = (technique) => technique === FLOOR || technique === DBOS

/** Whether its orders and events are stored, so that they can be checked. @param {string} technique */
export const isChecked = (technique) => isProduct(technique) || technique === FLOOR

/** Of its gateways and consumers. @param {string} technique */
export const flagsOf = (technique) => ['--system-partitions', String(PARTITIONS[technique])]
