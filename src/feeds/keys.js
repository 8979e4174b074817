/**
 * All keys are built here: prefix, hash tag, part. The name of a feed is checked before, and ids come after the tag, so no user
 * text reaches a hash tag or a pattern.
 *
 *     fr:feeds                     names of all feeds
 *     fr:{latest}:feed             definition
 *     fr:{latest}:secret           of what readers seal (item/cursor.js)
 *     fr:{latest}:writers          heartbeats (feeds/changes.js)
 *     fr:{latest:0}:ids            partition 0, part `ids`
 *     fr:{latest:0}:item:<id>
 *     fr:{latest:0}:deletions      an id may have a tombstone (layouts/ids.js)
 *     fr:{latest:0}:arrivals       log of arrivals of layouts ids and values (layouts/arrivals.js)
 *     fr:{latest:0}:values         partition 0 of a feed of layout values
 *     fr:{latest:0}:segments       partition 0 of a feed of layout segments, or :stream; in addition
 *     fr:{latest:0}:ahead :appended :marks      (layouts/log-layout.js)
 *     fr:{latest:0}:epoch          rises with every opening of a log for writing, after the one that created it
 *     fr:{latest:0}:trimmer        lease (pipeline/maintenance.js)
 *
 * With several partitions the tag of partition 3 is `{latest:3.12}`, so that they spread over the primaries of a cluster
 * (store/slots.js).
 */
import { spreadTag } from '../store/index.js'

/** @param {string} prefix */
export const namesKey = (prefix) => `${prefix}feeds`

/** @param {string} prefix @param {string} feed */
export const definitionKey = (prefix, feed) => `${prefix}{${feed}}:feed`

/** @param {string} prefix @param {string} feed */
export const secretKey = (prefix, feed) => `${prefix}{${feed}}:secret`

/** @param {string} prefix @param {string} feed */
export const writersKey = (prefix, feed) => `${prefix}{${feed}}:writers`

/**
 * @param {string} prefix
 * @param {Pick<import('./definitions.js').Definition, 'feed' | 'partitions'>} definition
 * @param {number} partition
 * @returns {(part: string) => string}
 */
export function partitionKey (prefix, { feed, partitions }, partition) {
  const tag = partitions > 1 ? spreadTag(feed, partition, partitions) : `${feed}:${partition}`
  return (part) => `${prefix}{${tag}}:${part}`
}

/** The keys of a feed with one partition. @param {string} prefix @param {string} feed */
export const onlyKey = (prefix, feed) => partitionKey(prefix, { feed, partitions: 1 }, 0)

/** Matches every key of the feed's partitions. @param {string} prefix @param {string} feed */
export const partitionPattern = (prefix, feed) => `${prefix}{${feed}:*`
