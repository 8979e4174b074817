/**
 * What other folders use of src/feeds.
 *
 * @typedef {import('./definitions.js').Definition} Definition
 * @typedef {import('./changes.js').Heartbeat} Heartbeat
 */
export {
  agree, checkFeedName, createFeed, definitionOf, dropFeed, expectAgreed, FEED_FIELD, FEED_SCHEMA, findDefinition, formatOf, isAgreed,
  isFeedName, isFollowable, isWider, keptMs, keptText, listDefinitions, listNames, readDefinition, readSecret, withoutLog
} from './definitions.js'
export { changeRetention, expiryMs, HEARTBEAT_KEPT_MS, HEARTBEATS_EXPIRE_MS, heartbeatText, putFeed, readHeartbeats } from './changes.js'
export { namesKey, onlyKey, partitionKey, writersKey } from './keys.js'
