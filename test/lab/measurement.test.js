/** A smoke of regression/lab/measurement.test.js. */
import '../../regression/lab/measurement.test.js'
