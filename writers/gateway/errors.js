/** Error codes of the gateway. */
import { define } from '../../src/errors.js'
import '../../src/http/index.js' // defines the HTTP codes that the gateway raises, too

export { FreshetError } from '../../src/errors.js'

define('gateway', {
  FEEDS_FULL: { status: 403, meaning: 'the feed does not exist, and no more feeds may be created' },
  ACK_UNKNOWN: {
    status: 503,
    retryable: true,
    meaning: 'the items were not acknowledged in time and may be stored or not; repeating is safe for ids of one source'
  }
})
