/** What the processes of this package use of src/systems, besides the list (list.js). */
export * from './admission.js'
export { closeInTime } from './closing.js'
export * from './definition.js'
export { createEvents } from './events.js'
export { publishFigures, readFigures } from './process-figures.js'
export { createReading } from './reading.js'
