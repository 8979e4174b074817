/** A smoke of regression/faults/maxmemory.test.js. */
import '../../regression/faults/maxmemory.test.js'
