/** A smoke of regression/bin/experiment.test.js. */
import '../../regression/bin/experiment.test.js'
