/** A smoke of regression/systems/auctions/faults.test.js. */
import '../../../regression/systems/auctions/faults.test.js'
