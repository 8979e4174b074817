/**
 * What subscribers of a line (stream-line.js) ask beside its blocking read: on the same connection, or on a second one while the first is
 * blocked. Look-ups of one turn are one MGET, and reads of one turn are one XREAD.
 *
 * @typedef {import('./connection.js').Word} Word
 * @typedef {import('./stream-line.js').Lane} Lane
 * @typedef {import('./stream-line.js').MainLane} MainLane
 * @typedef {import('./stream-line.js').Subscriber} Subscriber
 * @typedef {import('./stream-line.js').ReadAlone} ReadAlone
 * @typedef {Omit<import('./stream-line.js').Want, 'untilMs'>} Asked
 */
import { createReadSize, MAX_READ } from '../read-size.js'

/**
 * @param {{ main: MainLane, second: Lane, isShared: () => boolean, isBlocked: () => boolean }} parts `isShared`: others would wait for it
 */
export function createAsking ({ main, second, isShared, isBlocked }) {
  const sharedGet = createSharedGets((...words) => (isBlocked() ? second : main).send(...words))

  /** @param {Subscriber} one @param {[string, ...Word[]]} words */
  async function ask (one, words) {
    const isBulk = one.isBehind || (words[0] === 'XREVRANGE' && String(words.at(-1)) !== '1')
    if (one.inFlight === 0) one.lane = isBlocked() || (isBulk && isShared()) ? second : main
    one.inFlight++
    try {
      const isTogether = words[0] === 'MGET' && one.lane === main && isShared()
      const replied = isTogether ? sharedGet(words.slice(1)) : one.lane.send(...words)
      const held = words[0] === 'XREAD' && one.lane === main ? main.reads : Infinity
      const reply = await replied
      if (held !== Infinity) one.heldRead = held
      return reply
    } finally {
      one.inFlight--
    }
  }

  /** @type {ReadAlone} */
  async function readAlone (one, { key, after, count }) {
    const reply = await ask(one, ['XREAD', 'COUNT', count, 'STREAMS', key, after])
    one.isBehind = reply !== null && reply[0][1].length >= count
    return reply
  }

  return { ask, readAlone, readNow: createSharedReads(ask, readAlone) }
}

/**
 * Reads that do not block, and want as many entries of a key, of one turn: timers that are due together are several ticks of it. A refusal
 * may be about the key of one of them: then each reads by itself.
 * @param {(one: Subscriber, words: [string, ...Word[]]) => Promise<any>} ask @param {ReadAlone} readAlone @returns {ReadAlone}
 */
function createSharedReads (ask, readAlone) {
  /** @type {Map<string, Asked>} by key */
  const asked = new Map()

  /** @param {Asked[]} all */
  async function readAll (all) {
    const [first] = all
    const { count } = first
    const words = [...all.map(({ key }) => key), ...all.map(({ after }) => after)]
    /** @type {[unknown, unknown[]][] | null} */
    const reply = await ask(first.one, ['XREAD', 'COUNT', count, 'STREAMS', ...words])
    const found = new Map(reply?.map(([name, entries]) => [String(name), entries]))
    for (const { one, key, resolve } of all) {
      const entries = found.get(key)
      one.heldRead = first.one.heldRead
      one.isBehind = entries !== undefined && entries.length >= count
      resolve(entries ? [[key, entries]] : null)
    }
  }

  const readEach = (/** @type {Asked[]} */ all) =>
    all.forEach(({ one, resolve, reject, ...read }) => readAlone(one, read).then(resolve, reject))

  function readAsked () {
    const all = [...asked.values()]
    asked.clear()
    if (all.length === 1) return readEach(all)
    readAll(all).catch((error) => {
      if (error.outcome === 'forbidden' || error.outcome === 'refused') readEach(all)
      else all.forEach(({ reject }) => reject(error))
    })
  }

  return (one, read) => new Promise((resolve, reject) => {
    const [other] = asked.values()
    if (asked.has(read.key) || (other && other.count !== read.count)) return readEach([{ one, ...read, resolve, reject }])
    if (asked.size === 0) setImmediate(readAsked)
    asked.set(read.key, { one, ...read, resolve, reject })
  })
}

/**
 * What subscribers look up in one turn is one MGET, as far as its reply stays within the bound of one. A refusal may be about keys of one
 * of them: then each asks by itself.
 * @param {Lane['send']} send @returns {(keys: Word[]) => Promise<(Buffer | null)[]>}
 */
function createSharedGets (send) {
  /** @type {{ keys: Word[], resolve: (values: (Buffer | null)[]) => void, reject: (error: Error) => void }[]} */
  const asked = []
  const size = createReadSize()

  /** @param {typeof asked} some */
  async function ask (some) {
    try {
      /** @type {(Buffer | null)[]} */
      const values = await send('MGET', ...some.flatMap(({ keys }) => keys))
      size.learn(values)
      let at = 0
      for (const { keys, resolve } of some) resolve(values.slice(at, at += keys.length))
    } catch (error) {
      const mayBeOfOne = some.length > 1 && (error.outcome === 'forbidden' || error.outcome === 'refused')
      for (const one of some) if (mayBeOfOne) ask([one]); else one.reject(error)
    }
  }

  function askAll () {
    const most = size.of(MAX_READ)
    /** @type {typeof asked} */
    let some = []
    let count = 0
    for (const one of asked.splice(0)) {
      if (count > 0 && count + one.keys.length > most) {
        ask(some)
        some = []
        count = 0
      }
      some.push(one)
      count += one.keys.length
    }
    ask(some)
  }

  return (keys) => new Promise((resolve, reject) => {
    if (asked.length === 0) process.nextTick(askAll)
    asked.push({ keys, resolve, reject })
  })
}
