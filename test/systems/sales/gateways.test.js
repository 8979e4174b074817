/** A smoke of regression/systems/sales/gateways.test.js. */
import '../../../regression/systems/sales/gateways.test.js'
