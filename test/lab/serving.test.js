/** A smoke of regression/lab/serving.test.js. */
import '../../regression/lab/serving.test.js'
