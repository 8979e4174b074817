/** How many entries to request at once: a reply has about 1 MiB, and up to 16 while the view is behind. */

const REPLY_BYTES = 1024 * 1024
const MAX_REPLY_BYTES = 16 * REPLY_BYTES
const MAX_ENTRIES = 10_000
const FIRST_ENTRIES = 8
/** weight of what was learnt of an entry's size, in entries */
const LEARNT_WEIGHT = 8

/** @param {number} partitions read at once */
export function createReplySize (partitions) {
  let entryBytes = REPLY_BYTES / FIRST_ENTRIES / partitions
  let replyBytes = REPLY_BYTES

  /** Per partition; at least two, so a reply with one entry is known to be all there was. */
  const entries = () => Math.max(2, Math.min(MAX_ENTRIES, Math.floor(replyBytes / partitions / entryBytes)))

  return {
    entries,

    /** @param {import('../layouts/index.js').LogEntry[]} entries of a reply */
    learn (entries) {
      if (entries.length === 0) return
      let bytes = 0
      for (const entry of entries) bytes += entry.bytes.length
      entryBytes += (bytes / entries.length - entryBytes) * entries.length / (entries.length + LEARNT_WEIGHT)
    },

    /** The connection ended, perhaps because entries became larger. */
    lost () { if (entries() > 2) entryBytes *= 4 },

    /** @param {boolean} wasFull whether the last reply reached its limit */
    adjust (wasFull) { replyBytes = wasFull ? Math.min(2 * replyBytes, MAX_REPLY_BYTES) : REPLY_BYTES }
  }
}
