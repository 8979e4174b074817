/**
 * Node.js for processes of tests, most of which live for seconds: a start takes a fifth less processor time when code is optimized later,
 * and a tenth less with more room for young objects. What runs for longer is optimized as usual.
 */
export const NODE = [process.execPath, '--interrupt-budget=4000000', '--min-semi-space-size=16']
/** Node.js for lanes, which run for minutes: code is optimized later than usual, but not as late, for the same reason. */
export const LANE = [process.execPath, '--interrupt-budget=600000', '--min-semi-space-size=16']
