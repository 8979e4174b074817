/** Error codes of the lab. */
import { define } from '../src/errors.js'

export { FreshetError } from '../src/errors.js'

define('lab', {
  PLAN_INVALID: { exitStatus: 2, meaning: 'the plan of an experiment is invalid' },
  EXPERIMENT_UNKNOWN: { exitStatus: 2, meaning: 'no experiment has this number or name' },
  RESULT_INVALID: { meaning: 'the file is not a result of the lab, or has another format version' },
  RESULT_UNWRITABLE: { retryable: true, meaning: 'the result cannot be written; the last complete one is kept' },
  LAB_BUSY: { retryable: true, meaning: 'another experiment is running in this checkout' },
  LAB_SOURCE_CHANGED: { retryable: true, meaning: 'the code changed during the measurement' },
  LAB_STOPPED: { retryable: true, meaning: 'the experiment was stopped; completed measurements are kept' },
  LAB_TARGET_REFUSED: { meaning: 'the lab cannot measure on these servers, or cannot clean up on them' },
  AWS_UNUSABLE: { exitStatus: 2, meaning: 'AWS cannot be asked: credentials, region, permission, or the name of the group' },
  AWS_FAILED: { retryable: true, meaning: 'AWS did not answer, or refuses more calls for now' },
  LAB_NOT_EMPTY: { meaning: 'the servers hold keys of a measurement before it starts, or after its cleanup' },
  LAB_SERVERS_CHANGED: { retryable: true, meaning: 'a node restarted, changed its role or lost its counters during the measurement' },
  LAB_REPLICAS_BEHIND: { retryable: true, meaning: 'replicas did not reach the offset of their primary within the deadline' },
  VALGRIND_MISSING: { exitStatus: 2, meaning: 'instructions cannot be counted, because valgrind is not installed' },
  COUNT_FAILED: { meaning: 'a server under valgrind did not start, or left no count' },
  LOAD_FAILED: { retryable: true, meaning: 'the load process ended without a summary' },
  BROKER_FAILED: { meaning: 'the Kafka broker of the lab could not be fetched or started' },
  PEER_MISSING: { meaning: 'the libraries that the lab compares with cannot be installed' },
  SERVING_FAILED: { retryable: true, meaning: 'a process that serves HTTP, or its client, failed during the measurement' }
})
