/** How many entries are asked for at once, so that an answer has about a MiB, and more while the view is behind. */

const ANSWER_BYTES = 1024 * 1024
/** of an answer while the view is behind */
const LARGEST_ANSWER_BYTES = 16 * ANSWER_BYTES
const MAX_ENTRIES = 10_000
const FIRST_ENTRIES = 8
/** so many tell of their size as much as is known of it */
const ENOUGH_ENTRIES = 8

/** @param {number} partitions asked at once */
export function createAnswerSize (partitions) {
  let entryBytes = ANSWER_BYTES / FIRST_ENTRIES / partitions
  let answerBytes = ANSWER_BYTES

  return {
    /** Of each partition: two at least, as an answer of all that were asked for may not be all there are. */
    entries: () => Math.max(2, Math.min(MAX_ENTRIES, Math.floor(answerBytes / partitions / entryBytes))),

    /** @param {import('../layouts/log.js').LogEntry[]} entries that came */
    learn (entries) {
      if (entries.length === 0) return
      let bytes = 0
      for (const entry of entries) bytes += entry.bytes.length
      entryBytes += (bytes / entries.length - entryBytes) * entries.length / (entries.length + ENOUGH_ENTRIES)
    },

    /** @param {boolean} wasFull whether the last answer was as large as it might be */
    adjust (wasFull) { answerBytes = wasFull ? Math.min(2 * answerBytes, LARGEST_ANSWER_BYTES) : ANSWER_BYTES }
  }
}
