/** A smoke of regression/lab/aws.test.js. */
import '../../regression/lab/aws.test.js'
