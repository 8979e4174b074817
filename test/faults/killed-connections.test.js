/** A smoke of regression/faults/killed-connections.test.js. */
import '../../regression/faults/killed-connections.test.js'
