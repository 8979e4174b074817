/**
 * What other folders use of src/store.
 *
 * @typedef {import('./commands.js').CommandRow} CommandRow
 * @typedef {import('./connection.js').Connection} Connection
 * @typedef {import('./connection.js').Refusal} Refusal
 * @typedef {import('./link.js').Link} Link
 * @typedef {import('./lookups.js').LookUp} LookUp
 * @typedef {import('./nodes.js').NodeFigures} NodeFigures
 * @typedef {import('./probe.js').NodeFacts} NodeFacts
 * @typedef {import('./probe.js').ReplicaFacts} ReplicaFacts
 * @typedef {import('./probe.js').RoleFacts} RoleFacts
 * @typedef {import('./probe.js').ServerFacts} ServerFacts
 * @typedef {import('./published-client.js').PublishedClient} PublishedClient
 * @typedef {import('./primaries.js').Primaries} Primaries
 * @typedef {import('./replies.js').Outcome} Outcome
 * @typedef {import('./primaries.js').Router} Router
 * @typedef {import('./primaries.js').Opener} Opener
 * @typedef {import('./scripts.js').Script} Script
 * @typedef {import('./servers.js').Servers} Servers
 * @typedef {import('./shard.js').Shard} Shard
 * @typedef {import('./stream-follower.js').OpenStream} OpenStream
 * @typedef {import('./stream-line.js').StreamConnection} StreamConnection
 * @typedef {import('./link.js').SessionOutcome} SessionOutcome
 */
export {
  attachedReplicas, capabilities, expectPrimary, expectReplicas, figuresIn, nodeFigures, readInfo, replicasOf, replicaUrls
} from './nodes.js'
export { createLink, runSessions } from './link.js'
export { commandName, rowsOf } from './commands.js'
export { openConnection } from './connection.js'
export { createPrimaries, createRouter, openerOf, openPrimaries, retryWhileMoved } from './primaries.js'
export { createReads, createServers } from './servers.js'
export { hostsOf, slotMapOf } from './slot-map.js'
export { SLOTS, slotOf, spreadTag } from './slots.js'
export { probeServers, refusedRows } from './probe.js'
export { refusedAnswers } from './refused-answers.js'
export { openPublishedClient } from './published-client.js'
export { CHUNK_HEAD, chunkOf, HIDDEN, libraryOf, partOf, readScript, ruleText, scriptWith, versionsOfRules } from './scripts.js'
export { bareHost } from './tls.js'
export { createStreamFollower, followStream } from './stream-follower.js'
