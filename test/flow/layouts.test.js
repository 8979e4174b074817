/** A smoke of regression/flow/layouts.test.js. */
import '../../regression/flow/layouts.test.js'
