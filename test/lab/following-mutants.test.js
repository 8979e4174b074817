/** A smoke of regression/lab/following-mutants.test.js. */
import '../../regression/lab/following-mutants.test.js'
