/** A smoke of regression/faults/ledger-controls.test.js. */
import '../../regression/faults/ledger-controls.test.js'
