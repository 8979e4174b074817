/** A smoke of regression/lab/loads.test.js. */
import '../../regression/lab/loads.test.js'
