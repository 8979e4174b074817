/** Errors of consumers. */
import { define } from '../errors.js'

define('consumers', {
  LEASE_LOST: { retryable: true, meaning: 'another process owns the partition now' },
  KAFKA_MISSING: { exitStatus: 2, meaning: 'kafkajs, which Kafka as a transport needs, is not installed' },
  KAFKA_DOWN: { retryable: true, meaning: 'Kafka did not answer, or refused the request' }
})

export { FreshetError } from '../errors.js'
