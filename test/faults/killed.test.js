/** A smoke of regression/faults/killed.test.js. */
import '../../regression/faults/killed.test.js'
