/**
 * What other folders use of src/runtime.
 */
export { runCrew } from './crew.js'
export { aborted, lastFromParent, listenForStop, tellParent } from './lifecycle.js'
export { createLog } from './logging.js'
export { oneAtATime, within } from './pending.js'
export { runProcess } from './process.js'
export { visible, visibleJson, visibleLines } from './visible.js'
