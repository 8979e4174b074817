/**
 * The common reads of a line (stream-line.js): one XREAD after the other, each blocked for all that is wanted when it begins.
 *
 * @typedef {import('./stream-line.js').Subscriber} Subscriber
 * @typedef {import('./stream-line.js').MainLane} MainLane
 * @typedef {{ key: string, after: string, count: number, blockMs: number }} Read of one key
 * @typedef {Read & { one: Subscriber, untilMs: number, resolve: (reply: any) => void, reject: (error: Error) => void }} Want
 * @typedef {(one: Subscriber, read: Read) => Promise<any>} ReadAlone without blocking
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'

/** Between a reply and the next read, and before a block is ended. */
const PAUSE_MS = 10
/** entries of each key that a common read returns at most, and may always return */
const MAX_COUNT = 1000
const MIN_COUNT = 16

/**
 * @param {{ main: MainLane, longestMs: number, unblock: () => void, readAlone: ReadAlone, fail: (error: Error) => void }} parts
 *   `longestMs`: of a block; `unblock`: ends the block of `main`; `fail`: no read can follow
 */
export function createRounds ({ main, longestMs, unblock, readAlone, fail }) {
  /** @type {Set<Want>} */
  const wants = new Set()
  let isBlocked = false
  let isRunning = false
  let endsMs = 0
  let pausedUntilMs = 0
  /** @type {NodeJS.Timeout | undefined} */
  let waker

  async function run () {
    isRunning = true
    while (wants.size > 0) {
      const pauseMs = pausedUntilMs - performance.now()
      await (pauseMs > 0 ? sleep(pauseMs) : setImmediate())
      if (wants.size > 0) await readAll(new Set(wants)).catch(fail)
    }
    isRunning = false
  }

  /** @param {Set<Want>} asked */
  async function readAll (asked) {
    const [from, all] = [lowestOf(asked), [...asked]]
    const count = Math.max(MIN_COUNT, Math.min(MAX_COUNT, ...all.map((want) => want.count)))
    const nowMs = performance.now()
    const blockMs = Math.max(1, Math.ceil(Math.min(longestMs, Math.min(...all.map(({ untilMs }) => untilMs)) - nowMs)))
    endsMs = nowMs + blockMs
    isBlocked = true
    try {
      const reply = await main.send('XREAD', 'COUNT', count, 'BLOCK', blockMs, 'STREAMS', ...from.keys(), ...from.values())
      isBlocked = false
      // nothing came that a pause could collect
      if (reply !== null) pausedUntilMs = performance.now() + PAUSE_MS
      share(asked, { from, reply, count, held: main.reads, wants, readAlone })
    } catch (error) {
      isBlocked = false
      pausedUntilMs = performance.now() + PAUSE_MS
      if (error.outcome !== 'forbidden' && error.outcome !== 'refused') throw error
      await refuse(asked, { error, main, wants })
    } finally {
      clearTimeout(waker)
      waker = undefined
    }
  }

  return {
    get isBlocked () { return isBlocked },

    /** @param {Subscriber} one @param {Read} read @returns {Promise<any>} the reply of XREAD, for this key */
    wait: (one, read) => new Promise((resolve, reject) => {
      const nowMs = performance.now()
      wants.add({ one, ...read, untilMs: nowMs + read.blockMs, resolve, reject })
      if (!isRunning) run()
      else if (isBlocked && endsMs - nowMs > PAUSE_MS) waker ??= setTimeout(unblock, PAUSE_MS)
    }),

    /** @param {Error} error @param {Subscriber} [of] the wants of one, or all */
    drop (error, of) {
      if (of === undefined) clearTimeout(waker)
      for (const want of wants) {
        if (of !== undefined && want.one !== of) continue
        wants.delete(want)
        want.reject(error)
      }
    }
  }
}

/**
 * Hands a reply out. Who has waited for more than half of its time hears that there was nothing.
 * @param {Set<Want>} asked
 * @param {{ from: Map<string, string>, reply: [unknown, [unknown, Buffer[]][]][] | null, count: number, held: number, wants: Set<Want>,
 *   readAlone: ReadAlone }} parts `from`: where each key was read; `held`: number of the read
 */
function share (asked, { from, reply, count, held, wants, readAlone }) {
  const nowMs = performance.now()
  const found = new Map(reply?.map(([name, entries]) => [String(name), entries]))
  for (const want of asked) {
    const { one, key, after, blockMs, untilMs } = want
    const all = found.get(key) ?? []
    const entries = from.get(key) === after ? all : all.filter(([id]) => isAfter(String(id), after))
    const isCut = all.length >= count
    const isNews = entries.length > 0 || isCut
    if (!wants.has(want) || (!isNews && untilMs - nowMs > blockMs / 2)) continue
    wants.delete(want)
    if (isCut) {
      one.isBehind = true
      readAlone(one, want).then(want.resolve, want.reject)
      continue
    }
    if (isNews) one.heldRead = held
    want.resolve(isNews ? [[key, entries]] : null)
  }
}

/**
 * Finds out which keys a refusal is about.
 * @param {Set<Want>} asked @param {{ error: Error, main: MainLane, wants: Set<Want> }} parts @throws {Error} that, if none is refused alone
 */
async function refuse (asked, { error, main, wants }) {
  let isFound = false
  await Promise.all([...asked].map((want) => main.send('XREAD', 'COUNT', 1, 'STREAMS', want.key, want.after).catch((own) => {
    if (own.outcome === 'over') throw own
    isFound = true
    if (wants.delete(want)) want.reject(own)
  })))
  if (!isFound) throw error
}

/** Where a common read begins. @param {Set<Want>} asked @returns {Map<string, string>} ids by key */
function lowestOf (asked) {
  /** @type {Map<string, string>} */
  const lowest = new Map()
  for (const { key, after } of asked) {
    const known = lowest.get(key)
    if (known === undefined || isAfter(known, after)) lowest.set(key, after)
  }
  return lowest
}

/** @param {string} id of an entry @param {string} other */
function isAfter (id, other) {
  const [[ms, n], [otherMs, otherN]] = [id, other].map((one) => one.split('-').map(Number))
  return ms > otherMs || (ms === otherMs && n > otherN)
}
