/**
 * Consumers: processes that share the partitions of a system, each partition owned by one of them at a time.
 *
 *     heartbeat -> live processes -> own partitions -> lease of each -> work, until it is lost
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
export { entryLost, followPartition, lagOf, retry } from './partition.js'
export { consume, consumeBatches, createTogether } from './consume.js'
export { createDeadLetters } from './dead-letters.js'
export { createEffects, createOutboxReader } from './effects.js'
export { createKafkaEffect, expectKafka, topicOf } from './kafka.js'
export { TASKS } from './leases.js'
export { createOwnership, LEASE_MS } from './ownership.js'
