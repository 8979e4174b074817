/** A smoke of regression/faults/failover.test.js. */
import '../../regression/faults/failover.test.js'
