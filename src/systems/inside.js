/** What the processes of this package use of src/systems, besides the list (list.js). */
export { durabilityOf, hasReplicas, openDefinition, openReading } from './opening.js'
export { closeInTime } from './closing.js'
export { joinHandlers } from './consuming.js'
export * from './parts.js'
export { createEvents } from './events.js'
export { publishFigures, readFigures } from './process-figures.js'
