/** A smoke of regression/faults/credentials.test.js. */
import '../../regression/faults/credentials.test.js'
