/** Which servers are silent although they owe replies: one timer for all connections of a process, which wakes it when one may be late. */

/** @typedef {{ leftMs: () => number, late: () => void }} Watched `leftMs`: until it is late, Infinity = it owes nothing */

/** Between two looks at what is late, or will be soon. */
const LEAST_MS = 5
/** @type {Set<Watched>} */
const watched = new Set()
/** @type {NodeJS.Timeout | undefined} */
let timer
let dueMs = Infinity

/** @param {number} ms */
function lookWithin (ms) {
  const atMs = performance.now() + Math.max(LEAST_MS, ms)
  if (atMs >= dueMs) return
  clearTimeout(timer)
  dueMs = atMs
  timer = setTimeout(look, atMs - performance.now()).unref()
}

function look () {
  dueMs = Infinity
  for (const one of [...watched]) {
    const leftMs = one.leftMs()
    if (leftMs < 0) one.late()
    if (leftMs < Infinity) lookWithin(leftMs)
  }
}

/**
 * @param {Watched} one
 * @returns {{ within: (ms: number) => void, end: () => void }} `within`: it owes something from now on, and may be late after this time
 */
export function watchSilence (one) {
  watched.add(one)
  return {
    within: lookWithin,
    end () {
      watched.delete(one)
      if (watched.size > 0) return
      clearTimeout(timer)
      dueMs = Infinity
    }
  }
}
