/** A smoke of regression/flow/load.test.js. */
import '../../regression/flow/load.test.js'
