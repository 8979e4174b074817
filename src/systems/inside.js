/**
 * What the processes of this package use of src/systems, besides the list (list.js). index.js is the public API, for systems of users.
 *
 *     definition.js   what an author writes; checked-*.js check it, complete.js completes it, parts.js is what it then gets
 *     opening.js      a system on the servers of a process; opened.js is that of a program, with queries.js
 *     frame.js        what follows from commands; consuming.js has handlers and tasks
 *     reading.js      keys for queries, and waits; viewers.js pushes events and keys
 *     vocabulary.js   what definitions are written with: schemas.js, money.js, decisions.js; words.js has their types
 */
export { durabilityOf, hasReplicas, openDefinition, openReading } from './opening.js'
export { RESET_MS } from './breaker.js'
export { closeInTime, createFrame } from './frame.js'
export { OF_TASKS } from './checked-definition.js'
export { joinHandlers } from './consuming.js'
export * from './parts.js'
export { createEvents, createViewers } from './viewers.js'
export { createEventWaits, createReading } from './reading.js'
export { importModule } from './list.js'
export { publishFigures, readFigures } from './process-figures.js'
