/** Another program that reads a topic. */
import { randomUUID } from 'node:crypto'

const RETRIES = 50
const RETRY_MS = 100

/**
 * @typedef {{ partition: number, id: string, rule: string, key: string, fields: Record<string, string> }} Read
 * @param {import('tap').Test} t @param {string} broker @param {string} topic @param {(last: Read, count: number) => boolean} isLast
 * @returns {Promise<Read[]>} in the order of their partitions
 */
export async function readTopic (t, broker, topic, isLast) {
  const { Consumer, stringDeserializers } = await import('@platformatic/kafka')
  const consumer = new Consumer({
    clientId: 'test',
    groupId: randomUUID(),
    bootstrapBrokers: [broker],
    deserializers: stringDeserializers,
    retries: RETRIES,
    retryDelay: RETRY_MS
  })
  t.teardown(() => consumer.close(true))
  /** @type {Read[]} */
  const found = []
  for await (const { partition, key, value, headers } of await consumer.consume({ topics: [topic], mode: 'earliest', autocommit: false })) {
    const [id, rule] = ['id', 'rule'].map((name) => String(headers.get(name)))
    const one = { partition, id, rule, key, fields: JSON.parse(value) }
    found.push(one)
    if (isLast(one, found.length)) break
  }
  return found
}
