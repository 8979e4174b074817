/**
 * What subscribers of a line (stream-line.js) ask beside its blocking read: on the same connection, or on a second one while the first is
 * blocked. Look-ups of one turn are one MGET, and reads of one turn are one XREAD.
 *
 * @typedef {import('./connection.js').Word} Word
 * @typedef {import('./stream-line.js').Lane} Lane
 * @typedef {import('./stream-line.js').MainLane} MainLane
 * @typedef {import('./stream-line.js').Subscriber} Subscriber
 * @typedef {import('./stream-line.js').ReadAlone} ReadAlone
 * @typedef {Omit<import('./stream-line.js').PendingRead, 'untilMs'>} Asked
 */
import { createReadSize, MAX_READ } from '../read-size.js'

/**
 * @param {{ main: MainLane, second: Lane, isShared: () => boolean, isBlocked: () => boolean }} parts `isShared`: others would wait for it
 */
export function createAsking ({ main, second, isShared, isBlocked }) {
  const sharedGet = createSharedGets((...words) => (isBlocked() ? second : main).send(...words))

  /** @param {Subscriber} subscriber @param {[string, ...Word[]]} words */
  async function ask (subscriber, words) {
    const isBulk = subscriber.isBehind || (words[0] === 'XREVRANGE' && String(words.at(-1)) !== '1')
    if (subscriber.inFlight === 0) subscriber.lane = isBlocked() || (isBulk && isShared()) ? second : main
    subscriber.inFlight++
    try {
      const isTogether = words[0] === 'MGET' && subscriber.lane === main && isShared()
      const replied = isTogether ? sharedGet(words.slice(1)) : subscriber.lane.send(...words)
      const held = words[0] === 'XREAD' && subscriber.lane === main ? main.reads : Infinity
      const reply = await replied
      if (held !== Infinity) subscriber.heldRead = held
      return reply
    } finally {
      subscriber.inFlight--
    }
  }

  /** @type {ReadAlone} */
  async function readAlone (subscriber, { key, after, count }) {
    const reply = await ask(subscriber, ['XREAD', 'COUNT', count, 'STREAMS', key, after])
    subscriber.isBehind = reply !== null && reply[0][1].length >= count
    return reply
  }

  return { ask, readAlone, readNow: createSharedReads(ask, readAlone) }
}

/**
 * Reads that do not block, and want as many entries of a key, of one turn: timers that are due together are several ticks of it. A refusal
 * may be about the key of one of them: then each reads by itself.
 * @param {(subscriber: Subscriber, words: [string, ...Word[]]) => Promise<any>} ask @param {ReadAlone} readAlone @returns {ReadAlone}
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
    const reply = await ask(first.subscriber, ['XREAD', 'COUNT', count, 'STREAMS', ...words])
    const entriesByKey = new Map(reply?.map(([name, entries]) => [String(name), entries]))
    for (const { subscriber, key, resolve } of all) {
      const entries = entriesByKey.get(key)
      subscriber.heldRead = first.subscriber.heldRead
      subscriber.isBehind = entries !== undefined && entries.length >= count
      resolve(entries ? [[key, entries]] : null)
    }
  }

  const readEach = (/** @type {Asked[]} */ all) =>
    all.forEach(({ subscriber, resolve, reject, ...read }) => readAlone(subscriber, read).then(resolve, reject))

  function readAsked () {
    const all = [...asked.values()]
    asked.clear()
    if (all.length === 1) return readEach(all)
    readAll(all).catch((error) => {
      if (error.outcome === 'forbidden' || error.outcome === 'refused') readEach(all)
      else all.forEach(({ reject }) => reject(error))
    })
  }

  return (subscriber, read) => new Promise((resolve, reject) => {
    const [other] = asked.values()
    if (asked.has(read.key) || (other && other.count !== read.count)) return readEach([{ subscriber, ...read, resolve, reject }])
    if (asked.size === 0) setImmediate(readAsked)
    asked.set(read.key, { subscriber, ...read, resolve, reject })
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
      for (const request of some) if (mayBeOfOne) ask([request]); else request.reject(error)
    }
  }

  function askAll () {
    const most = size.of(MAX_READ)
    /** @type {typeof asked} */
    let some = []
    let count = 0
    for (const request of asked.splice(0)) {
      if (count > 0 && count + request.keys.length > most) {
        ask(some)
        some = []
        count = 0
      }
      some.push(request)
      count += request.keys.length
    }
    ask(some)
  }

  return (keys) => new Promise((resolve, reject) => {
    if (asked.length === 0) process.nextTick(askAll)
    asked.push({ keys, resolve, reject })
  })
}
