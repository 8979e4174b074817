/**
 * An entry of an outbox as a message of the topic.
 *
 *     partition  that of the system          headers  id        of the entry
 *     key        key of the entry                     previous  id of the entry before it in the outbox
 *     value      its fields, as JSON                  rule
 *
 * @typedef {import('../transport.js').Entry} Entry
 */

/** @param {number} partition @param {Entry} entry @param {string} previous @returns {import('kafkajs').Message} */
export const messageOf = (partition, { id, rule, key, fields }, previous) => ({
  partition, key, value: JSON.stringify(fields), headers: { id, previous, rule }
})

/** @param {import('kafkajs').KafkaMessage} message @returns {{ entry: Entry, previous: string }} */
export function entryIn ({ key, value, headers }) {
  const [id, previous, rule] = ['id', 'previous', 'rule'].map((name) => String(headers?.[name]))
  const fields = JSON.parse(String(value))
  return { entry: { id, rule, key: String(key), seq: Number(fields.seq), fields }, previous }
}
