/** A smoke of regression/lab/load-faults.test.js. */
import '../../regression/lab/load-faults.test.js'
