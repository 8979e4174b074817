/** A smoke of regression/systems/orders/faults.test.js. */
import '../../../regression/systems/orders/faults.test.js'
