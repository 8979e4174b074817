/** A smoke of regression/faults/black-hole.test.js. */
import '../../regression/faults/black-hole.test.js'
