/** A smoke of regression/gateway/layouts.test.js. */
import '../../regression/gateway/layouts.test.js'
