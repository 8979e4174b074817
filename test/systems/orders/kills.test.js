/** A smoke of regression/systems/orders/kills.test.js. */
import '../../../regression/systems/orders/kills.test.js'
