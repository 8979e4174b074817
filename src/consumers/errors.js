/** Errors of consumers. */
import { define } from '../errors.js'

define('consumers', {
  LEASE_LOST: { retryable: true, meaning: 'another process owns the partition now' }
})

export { FreshetError } from '../errors.js'
