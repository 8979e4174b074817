/** A smoke of regression/systems/sales/faults.test.js. */
import '../../../regression/systems/sales/faults.test.js'
