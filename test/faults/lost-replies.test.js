/** A smoke of regression/faults/lost-replies.test.js. */
import '../../regression/faults/lost-replies.test.js'
