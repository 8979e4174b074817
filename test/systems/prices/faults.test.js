/** A smoke of regression/systems/prices/faults.test.js. */
import '../../../regression/systems/prices/faults.test.js'
