/** A smoke of regression/systems/orders/soak.test.js. */
import '../../../regression/systems/orders/soak.test.js'
