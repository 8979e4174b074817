/** A smoke of regression/gateway/ledger.test.js. */
import '../../regression/gateway/ledger.test.js'
