/** A smoke of regression/admission/admit.test.js. */
import '../../regression/admission/admit.test.js'
