/** A smoke of regression/systems/auctions/live.test.js. */
import '../../../regression/systems/auctions/live.test.js'
