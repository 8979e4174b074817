/**
 * What other folders use of src/runtime.
 */
export { runCrew } from './crew.js'
export { runProcess } from './process.js'
export { aborted, lastFromParent, listenForStop, oneAtATime, tellParent, within } from './lifecycle.js'
export { createLog, visible, visibleJson, visibleLines } from './logging.js'
