/**
 * A transport brings the entries of a partition's outbox to its owner. The consumer loop (consume.js) knows only this.
 *
 *     outbox ──────────────────────────▶ take      outbox-reader.js
 *     outbox ──▶ relay ──▶ topic ──────▶ take      kafka/transport.js, which reads the outbox through another transport
 *
 * - `follow` returns at once. From then on `take` gets every entry after `position`, in order and without gaps, one batch at a time. An
 *   entry is given at most once after each `follow`; the next owner gets everything after the last stored position.
 * - `leave` returns at once. A `take` that runs goes on; no other begins.
 * - Nothing is rejected because a server is down: the transport waits, tries again, and says so in the log.
 *
 * @typedef {import('../admission/index.js').Entry} Entry
 * @typedef {(entries: Entry[]) => Promise<void>} Take
 * @typedef {object} Transport
 * @property {(partition: number, position: string, take: Take) => void} follow `position`: id of the last finished entry
 * @property {(partition: number) => void} leave
 * @property {() => Promise<void>} close leaves all partitions
 */
export {}
