/**
 * What the processes of this package use of src/systems, besides the list (list.js).
 *
 * @typedef {import('./definition.js').System} System
 * @typedef {import('./definition.js').Gateway} Gateway
 * @typedef {import('./definition.js').GatewayParts} GatewayParts
 * @typedef {import('./definition.js').Reader} Reader
 * @typedef {import('./definition.js').ReaderParts} ReaderParts
 * @typedef {import('./definition.js').ReaderDatabase} ReaderDatabase
 * @typedef {import('./definition.js').ConsumerParts} ConsumerParts
 * @typedef {import('./definition.js').StreamRow} StreamRow
 */
export { openAdmission } from './admission.js'
export { createEvents } from './events.js'
export { publishFigures, readFigures } from './process-figures.js'
export { createReading } from './reading.js'
