/**
 * What a checkout starts for itself, under one supervisor: servers, PostgreSQL and DynamoDB.
 *
 *     target.js                what a command works on; client.js finds or starts the supervisor, with lock.js, and holds it
 *     supervisor-process.js    owns all of it; clients reach it by a control socket
 *     fleet.js                 servers, those of a cluster and Sentinels, started again when they end; server-process.js is one of them
 *     engine.js                which program runs, or is fetched; fetch-once.js fetches other parts
 *     postgres/, dynamodb/
 *
 * @typedef {import('./client.js').EmbeddedServers} EmbeddedServers
 * @typedef {import('./engine.js').Engine} Engine
 * @typedef {import('./target.js').Target} Target
 */
export { defaultCacheDir, lookAtEmbeddedServers, useEmbeddedServers } from './client.js'
export {
  chooseEngine, compareVersions, enginesFound, findPip, installAdvice, installedEngines, namedEngine, newest, PINNED_VERSION, programsOnPath
} from './engine.js'
export { createFleet } from './fleet.js'
export { isLocalRequest, REFUSED } from './local-requests.js'
export { acquireLock, ownSocketPath } from './lock.js'
export { startPostgresServer } from './postgres/data-folder.js'
export { createPostgres, hasPostgres, VERSION as POSTGRES_VERSION } from './postgres/database.js'
export { createGuard, freePort, startServer } from './server-process.js'
export { createServices, formOf, ownPart, ROOT, runningPart, SERVERS_FAILED, withTarget } from './target.js'
