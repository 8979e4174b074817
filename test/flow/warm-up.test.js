/** A smoke of regression/flow/warm-up.test.js. */
import '../../regression/flow/warm-up.test.js'
