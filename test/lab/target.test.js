/** A smoke of regression/lab/target.test.js. */
import '../../regression/lab/target.test.js'
