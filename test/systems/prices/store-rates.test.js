/** A smoke of regression/systems/prices/store-rates.test.js. */
import '../../../regression/systems/prices/store-rates.test.js'
