/**
 * All keys are built here: prefix, hash tag, part. The name of a feed is checked before, and ids come after the tag, so no user
 * text reaches a hash tag or a pattern.
 *
 *     fr:feeds                     names of all feeds
 *     fr:{latest}:feed             definition
 *     fr:{latest}:writers          heartbeats (feeds/heartbeats.js)
 *     fr:{latest:0}:ids            partition 0, part `ids`
 *     fr:{latest:0}:item:<id>
 *     fr:{latest:0}:deletions      an id may have a tombstone (layouts/ids.js)
 *     fr:{latest:0}:late           marks of late batches (layouts/late-marks.js)
 *     fr:{latest:0}:values         partition 0 of a feed of layout values
 *     fr:{latest:0}:segments       partition 0 of a feed of layout segments, or :stream; in addition
 *     fr:{latest:0}:ahead :appended :marks      (layouts/log-retention.js)
 *     fr:{latest:0}:epoch          rises with every opening of a log for writing, after the one that created it
 *     fr:{latest:0}:trimmer        lease (pipeline/trimmer.js)
 */

/** @param {string} prefix */
export const namesKey = (prefix) => `${prefix}feeds`

/** @param {string} prefix @param {string} feed */
export const definitionKey = (prefix, feed) => `${prefix}{${feed}}:feed`

/** @param {string} prefix @param {string} feed */
export const writersKey = (prefix, feed) => `${prefix}{${feed}}:writers`

/**
 * @param {string} prefix
 * @param {string} feed
 * @param {number} partition
 * @returns {(part: string) => string}
 */
export const partitionKey = (prefix, feed, partition) => (part) => `${prefix}{${feed}:${partition}}:${part}`

/** Matches every key of the feed's partitions. @param {string} prefix @param {string} feed */
export const partitionPattern = (prefix, feed) => `${prefix}{${feed}:*`
