/** A smoke of regression/faults/rolling-update.test.js. */
import '../../regression/faults/rolling-update.test.js'
