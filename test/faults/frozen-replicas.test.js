/** A smoke of regression/faults/frozen-replicas.test.js. */
import '../../regression/faults/frozen-replicas.test.js'
