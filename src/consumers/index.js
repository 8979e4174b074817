/**
 * Consumers: processes that share the partitions of a system, each partition owned by one of them at a time.
 *
 *     heartbeat -> live processes -> own partitions (assignment.js) -> lease of each -> work, until it is lost
 *
 * A process that dies, or stands still, loses its leases after `leaseMs`; the next owner has a higher fencing token.
 *
 * @typedef {import('./ownership.js').Work} Work
 * @typedef {import('./ownership.js').Owned} Owned
 * @typedef {import('./consume.js').SqlEffect} SqlEffect
 * @typedef {import('./consume.js').SqlClient} SqlClient
 * @typedef {import('./consume.js').Database} Database
 * @typedef {import('./consume.js').BatchEffect} BatchEffect
 * @typedef {import('./dead-letters.js').DeadLetters} DeadLetters
 * @typedef {import('./effects.js').NewLetter} NewLetter
 * @typedef {import('./partition.js').Target} Target
 */
export { entryLost } from './attempts.js'
export { consume, consumeBatches } from './consume.js'
export { createDeadLetters } from './dead-letters.js'
export { createEffects } from './effects.js'
export { createKafkaEffect, expectKafka, topicOf } from './kafka.js'
export { createOutboxReader } from './outbox-reader.js'
export { followPartition, lagOf } from './partition.js'
export { createTogether } from './together.js'
export { TASKS } from './leases.js'
export { createOwnership, LEASE_MS } from './ownership.js'
export { retry } from './retry.js'
