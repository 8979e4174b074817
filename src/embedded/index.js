/**
 * What a checkout starts for itself, under one supervisor: servers, PostgreSQL and DynamoDB.
 *
 *     target.js       what a command works on; client.js holds the supervisor, reach.js finds or starts it, with lock.js
 *     supervisor.js   the process that owns all of it; clients reach it by control-socket.js
 *     fleet.js        servers, with server-process.js, keeper.js, guard.js; form-cluster.js and sentinels.js are two forms
 *     engine.js       which program runs; pinned.js and fetch-once.js fetch one
 *     postgres/, dynamodb/
 *
 * @typedef {import('./client.js').EmbeddedServers} EmbeddedServers
 * @typedef {import('./engine.js').Engine} Engine
 * @typedef {import('./target.js').Target} Target
 */
export { defaultCacheDir, lookAtEmbeddedServers, useEmbeddedServers } from './client.js'
export {
  chooseEngine, compareVersions, enginesFound, installAdvice, installedEngines, namedEngine, newest, programsOnPath
} from './engine.js'
export { createFleet } from './fleet.js'
export { freePort } from './free-port.js'
export { createGuard } from './guard.js'
export { isLocalRequest, REFUSED } from './local-requests.js'
export { acquireLock, ownSocketPath } from './lock.js'
export { findPip, PINNED_VERSION } from './pinned.js'
export { startCluster } from './postgres/data-folder.js'
export { createPostgres, hasPostgres, VERSION as POSTGRES_VERSION } from './postgres/database.js'
export { startServer } from './server-process.js'
export { createServices, formOf, ownPart, ROOT, runningPart, SERVERS_FAILED, withTarget } from './target.js'
