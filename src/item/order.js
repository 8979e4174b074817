/**
 * The order of a feed: (ts, seq, id bytes), newest first.
 *
 * ts is event time in milliseconds, 0 <= ts < 2^41. seq counts a writer's consecutive items of one ts and
 * saturates at 4,095; beyond it, and between writers, the id decides. On a server the pair is one score,
 * ts + seq / 4096: 41 + 12 bits, hence exact in a double and readable as milliseconds.
 *
 * @typedef {{ ts: number, seq: number, id: Buffer }} OrderKey where an item stands in the order
 */

export const MAX_TS = 2 ** 41 - 1
export const MAX_SEQ = 4095
const SEQ_STEPS = 4096

/** @param {number} ts @param {number} seq @returns {number} exact in a double */
export const scoreOf = (ts, seq) => ts + seq / SEQ_STEPS

/** @param {number} score @returns {{ ts: number, seq: number }} */
export function unscore (score) {
  const ts = Math.floor(score)
  return { ts, seq: (score - ts) * SEQ_STEPS }
}

/**
 * @param {OrderKey} a
 * @param {OrderKey} b
 * @returns {number} negative when a is older than b, 0 when they are equal
 */
export function compareOrder (a, b) {
  return a.ts - b.ts || a.seq - b.seq || Buffer.compare(a.id, b.id)
}

/** For sorting newest first. @param {OrderKey} a @param {OrderKey} b */
export const newestFirst = (a, b) => compareOrder(b, a)

/**
 * Numbers a writer's consecutive items of one ts.
 * @returns {(ts: number) => number} the seq of the next item with that ts
 */
export function createSequence () {
  let lastTs = -1
  let seq = 0
  return (ts) => {
    if (ts !== lastTs) {
      lastTs = ts
      seq = 0
    } else if (seq < MAX_SEQ) seq++
    return seq
  }
}
