/** A smoke of regression/systems/orders/rates.test.js. */
import '../../../regression/systems/orders/rates.test.js'
