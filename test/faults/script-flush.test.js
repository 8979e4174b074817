/** A smoke of regression/faults/script-flush.test.js. */
import '../../regression/faults/script-flush.test.js'
