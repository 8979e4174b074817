/** A smoke of regression/lab/target-run.test.js. */
import '../../regression/lab/target-run.test.js'
