/** A smoke of regression/systems/sales/kills.test.js. */
import '../../../regression/systems/sales/kills.test.js'
