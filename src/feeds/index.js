/**
 * What other folders use of src/feeds.
 *
 * @typedef {import('./definitions.js').Definition} Definition
 * @typedef {import('./heartbeats.js').Heartbeat} Heartbeat
 */
export {
  agree, checkFeedName, createFeed, definitionOf, dropFeed, expectAgreed, FEED_FIELD, FEED_SCHEMA, findDefinition,
  isAgreed, isFeedName, isFollowable, isWider, listDefinitions, listNames, readDefinition, readSecret, withoutLog
} from './definitions.js'
export { changeRetention, expiryMs, putFeed } from './changes.js'
export { HEARTBEAT_KEPT_MS, HEARTBEATS_EXPIRE_MS, heartbeatText, readHeartbeats } from './heartbeats.js'
export { keptMs, keptText } from './reach.js'
export { formatFor, isSpread, namesKey, onlyKey, partitionKey, writersKey } from './keys.js'
