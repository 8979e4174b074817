/** Errors of consumers. */
import { define } from '../errors.js'

define('consumers', {
  DEAD_LETTER_UNKNOWN: { status: 404, meaning: 'there is no dead letter with this id' },
  DEAD_LETTER_BLOCKS_KEY: { status: 409, meaning: 'the key is parked, and only this dead letter resumes it' },
  LEASE_LOST: { meaning: 'another process owns the partition now, or its primary lost the entry' },
  ENTRY_UNFINISHED: { meaning: 'attempts at an entry began and did not end: each time its connection or process ended' },
  OUTBOX_TRIMMED: { retryable: true, meaning: 'the outbox was trimmed past the cursor of a consumer, so entries may be lost' },
  KAFKA_MISSING: { exitStatus: 2, meaning: 'the Kafka client, which --kafka-brokers needs, is not installed' },
  KAFKA_DOWN: { retryable: true, meaning: 'Kafka did not answer, or did not take the entries' },
  KAFKA_REFUSED: { meaning: 'Kafka rejects the entry, for example because it is too large' }
})

export { FreshetError } from '../errors.js'
