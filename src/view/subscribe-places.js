/**
 * Changes of a feed by place, of layouts that keep a log: every version that was appended behind a position, deletions too,
 * once, in the order in which they arrived in their partition, from whichever node answers.
 *
 *     entries    ... | delivered | in delivery: some versions of it | behind
 *                                  ^ place (of the entry before, when all of it is delivered)
 *
 * Nodes hold the same entries by the same ids, so another node goes on behind the same place; one that has not got there yet
 * has nothing behind it. What may have been trimmed is found out by log-behind.js. A batch that was sent twice is known by its
 * origin; for that the last few MiB before a position are looked through when a subscription begins there. An entry that cannot be
 * read is passed over.
 *
 * @typedef {import('./log-behind.js').Part} Part
 * @typedef {{ id: string, ts: number, value: Buffer | null }} Version
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { checkCreation, createdMsOf, decodePlaces, encodePlaces } from '../item/position.js'
import { MAX_ENTRIES, beginPart, checkSame, createEntriesAtOnce, headOf, isUnreadable, readBehind } from './log-behind.js'

/** looked through before a place, of all partitions */
const REMEMBERED_BYTES = 4 * 1024 * 1024
/** how far a node may be behind that does not say */
const UNKNOWN_LAG_MS = 1000

/**
 * @param {import('./ask.js').Ask} ask
 * @param {import('../feeds/definitions.js').Definition} asked
 * @param {import('./subscribe.js').Following} options
 * @returns {AsyncGenerator<import('./subscribe.js').Change>}
 */
export async function * subscribeByPlace (ask, asked, { from, signal, pollMs, now, patiently }) {
  const { feed, partitions } = asked
  const createdMs = createdMsOf(asked)
  const size = createEntriesAtOnce()
  const position = typeof from === 'string' ? decodePlaces(feed, from, partitions) : null
  if (typeof from === 'string') checkCreation(asked, from)
  let readMs = position?.readMs ?? Math.max(0, now() - UNKNOWN_LAG_MS)
  /** @type {import('../store/connection.js').Connection | undefined} */
  let node

  const begun = await patiently(() => ask.ofLog(feed, async (connection, { log, keys }) => {
    checkSame(feed, keys, partitions)
    const share = REMEMBERED_BYTES / partitions
    return { parts: await Promise.all(keys.map((key, i) => beginPart(connection, log, key, { position, partition: i, share, readMs }))) }
  }))
  if (begun === null) return
  /** @type {Part[]} */
  const parts = begun.parts

  while (!signal.aborted) {
    const begunMs = performance.now()
    const answer = await patiently(() => ask.ofLog(feed, (connection, { definition, log, keys }) => {
      checkSame(feed, keys, partitions)
      const count = size.of(MAX_ENTRIES, partitions)
      return readBehind(connection, { feed, parts, log, count, definition, nowMs: now() })
    }, node))
    if (answer === null) return
    const askingMs = performance.now() - begunMs
    /** @type {import('./log-behind.js').Read} */
    const { found, isSure, count, log } = answer
    node = answer.node
    for (const [i, entries] of found.entries()) {
      size.learn(entries, ({ bytes }) => bytes.length)
      for (const entry of entries) {
        const part = parts[i]
        const { versions, origin } = versionsOf(log, entry, part)
        const delivered = entry.place === part.place ? part.versions : 0
        const places = parts.map(({ place, versions, sinceMs }) => ({ place, versions, isEnd: sinceMs >= readMs }))
        places[i].place = entry.place
        for (let done = delivered + 1; done <= versions.length; done++) {
          part.place = entry.place
          part.versions = done === versions.length ? 0 : done
          yield changeOf(versions[done - 1], { feed, createdMs, readMs, places, partition: i, versions: part.versions })
          if (signal.aborted) return
        }
        part.place = entry.place
        part.versions = 0
        if (origin !== null) part.origins.add(origin)
      }
    }
    const askedMs = Math.max(0, answer.asOf - (answer.lagMs ?? UNKNOWN_LAG_MS))
    parts.forEach((part, i) => { if (isSure[i]) part.sinceMs = found[i].length < count ? askedMs : 0 })
    readMs = askedMs
    if (found.every((entries) => entries.length < count)) await sleep(Math.max(pollMs, askingMs), undefined, { signal }).catch(() => {})
  }
}

/**
 * @param {import('../layouts/log.js').Log} log @param {import('../layouts/log.js').LogEntry} entry @param {Part} part
 * @returns {{ versions: Version[], origin: string | null }} none of one that was delivered before, or cannot be read
 */
function versionsOf (log, entry, { origins }) {
  /** @type {Version[]} */
  const versions = []
  const head = headOf(log, entry)
  if (head === null || origins.has(head.origin)) return { versions, origin: null }
  try {
    log.each(entry.bytes, (bytes, idAt, idEnd, ts, seq, deleted, valueAt, valueEnd) => {
      // copied: a caller that keeps one value would keep its whole entry
      versions.push({ id: bytes.toString('utf8', idAt, idEnd), ts, value: deleted ? null : Buffer.from(bytes.subarray(valueAt, valueEnd)) })
    })
  } catch (error) {
    if (!isUnreadable(error)) throw error
    return { versions: [], origin: null }
  }
  return { versions, origin: head.origin }
}

/**
 * @param {Version} version
 * @param {{ feed: string, createdMs: number, readMs: number, places: { place: string, versions: number, isEnd: boolean }[], partition: number, versions: number }} at
 *   `places` of all partitions; `versions`: of the entry of this `partition`
 * @returns {import('./subscribe.js').Change}
 */
function changeOf ({ id, ts, value }, { feed, createdMs, readMs, places, partition, versions }) {
  return /** @type {import('./subscribe.js').Change} */ ({
    id,
    ts,
    value,
    deleted: value === null,
    // spelt when it is looked at: most are not
    get position () {
      return encodePlaces(feed, {
        readMs,
        places: places.map(({ place, versions: delivered, isEnd }, i) => {
          const [ms, n] = place.split('-').map(Number)
          return { ms, n, versions: i === partition ? versions : delivered, isEnd }
        })
      }, createdMs)
    }
  })
}
