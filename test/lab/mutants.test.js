/** A smoke of regression/lab/mutants.test.js. */
import '../../regression/lab/mutants.test.js'
