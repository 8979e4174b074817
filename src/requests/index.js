/** Requests at a fixed rate over plain HTTP connections, and their latencies: for `freshet bench` and the lab. */
export { openClient } from './connection.js'
export { createHeadReader, openSocket } from './http-socket.js'
export { createLatencies } from './latencies.js'
export { RESPONSE_TIMEOUT_MS, startRequests, WARM_UP_MS } from './request-loop.js'

/** @typedef {import('./latencies.js').Percentiles} Percentiles */
/** @typedef {import('./request-loop.js').Requests} Requests */
/** @typedef {import('./request-loop.js').Inspector} Inspector */
