/** A Kafka transport on the outboxes of a server, with connections of its own. */
import { admissionKey } from '../../src/admission/index.js'
import { createKafkaTransport, createOutboxReader } from '../../src/consumers/index.js'
import { openConnection } from '../../src/store/connection.js'

export const PARTITIONS = 4

/** @param {string} system */
export const keysOf = (system) => (/** @type {number} */ partition) => admissionKey('fr:', system, partition)

/** @param {{ url: string, broker: string, system: string, log: import('pino').Logger }} options `system`: its topic is that test's only */
export async function openTransport ({ url, broker, system, log }) {
  const connection = await openConnection(url, { name: 'outbox', deadlineMs: 10_000 })
  const outbox = createOutboxReader({ connection: () => connection, keyOf: keysOf(system), log })
  const transport = await createKafkaTransport({ brokers: [broker], system, partitions: PARTITIONS, outbox, log })
  return {
    ...transport,
    async close () {
      await transport.close()
      connection.close()
    }
  }
}
