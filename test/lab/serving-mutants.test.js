/** A smoke of regression/lab/serving-mutants.test.js. */
import '../../regression/lab/serving-mutants.test.js'
