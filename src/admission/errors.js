/** Errors of admission. */
import { define } from '../errors.js'

define('admission', {
  ADMISSION_FULL: { retryable: true, meaning: 'too many commands wait for their decision; the command was not sent' },
  ADMISSION_BACKLOG: { status: 503, retryable: true, meaning: 'consumers are behind; the command was not decided' },
  ADMISSION_LATE: { retryable: true, meaning: 'the command waited too long and was not sent' },
  NOT_CONFIRMED: { retryable: true, meaning: 'the command was decided, but its decision was not confirmed as durable in time' },
  SYSTEM_DIFFERS: { exitStatus: 2, meaning: 'the system is stored with another number of partitions, or in another format' },
  DURABILITY_UNSUPPORTED: { exitStatus: 2, meaning: 'the server cannot confirm commands as --durability asks' },
  REQUEST_NOT_ACCEPTED: { status: 404, meaning: 'no request with this Idempotency-Key was accepted so far, or it has expired' },
  REQUEST_DIFFERS: { status: 422, meaning: 'a request with this id was accepted with other arguments' },
  RULE_FAILED: { meaning: 'a rule failed, or returned what a rule must not return; nothing of its command was stored' },
  RULE_DIFFERS: { exitStatus: 2, meaning: 'a rule is stored in a higher version, or in the same one with another text' },
  RULE_INCONSISTENT: { meaning: 'fold or certain of a rule do not agree with its Lua (checkRule)' },
  KEY_UNKNOWN: { status: 404, meaning: 'there is no such key' },
  EVENTS_TRIMMED: { meaning: 'events after this sequence number are no longer kept' },
  GENERATION_CHANGED: { meaning: 'facts known before may not hold, such as after another server became the primary; read the key again' },
  LINEAGE_DIFFERS: { retryable: true, meaning: 'processes disagree about which server is the primary' }
})

export { FreshetError } from '../errors.js'
