/** A smoke of regression/systems/auctions/ledger.test.js. */
import '../../../regression/systems/auctions/ledger.test.js'
