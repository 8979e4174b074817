/** A smoke of regression/waiting-room/size.test.js. */
import '../../regression/waiting-room/size.test.js'
