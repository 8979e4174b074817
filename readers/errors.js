/** Error codes of the reader. */
import { define } from '../src/errors.js'

export { FreshetError } from '../src/errors.js'

define('reader', {
  ITEM_UNKNOWN: { status: 404, meaning: 'no live item has that id' }
})
