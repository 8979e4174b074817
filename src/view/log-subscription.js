/**
 * Changes of a feed by its log: every version that was appended behind a position, deletions included, once, in order of arrival in its
 * partition, from whichever node answers. A log of arrivals has no values (log-arrived.js).
 *
 *     entries    ... | delivered | being delivered: some of its versions | behind
 *                                  ^ entry id (of the one before, if all of this one is delivered)
 *
 * All nodes have the same entries with the same ids, so another node can continue; one that is behind has nothing new.
 * log-resume.js detects entries that were trimmed. A batch that was sent twice is recognized by its origin; for that, a
 * subscription first scans the last few MiB before its position. Unreadable entries are skipped.
 *
 * @typedef {import('./log-resume.js').Part} Part
 * @typedef {import('./log-arrived.js').Version} Version
 * @typedef {import('./subscribe.js').Change} Change
 * @typedef {Map<import('../layouts/index.js').LogEntry, (Version | null)[]>} Arrived null = skipped
 * @typedef {{ entryId: string, versions: number, isEnd: boolean }} Offset of a partition; `versions` delivered, 0 = all
 * @typedef {{ from?: string | null, isNew: boolean, signal: AbortSignal, pollMs: number, now: () => number,
 *   retry: import('./subscription-retry.js').Retry }} Options `isNew`: the feed did not exist, so its changes begin with its first item
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { checkCreation, createdMsOf, decodeOffsets, encodeOffsets } from '../item/index.js'
import { createReadSize } from '../layouts/index.js'
import { UNKNOWN_LAG_MS } from './lag.js'
import { readArrived } from './log-arrived.js'
import { beginPart, checkSame, createEntriesAtOnce, headOf, isUnreadable, MAX_ENTRIES, readBehind } from './log-resume.js'

/** scanned before a position, in all partitions together */
const SCANNED_BYTES = 4 * 1024 * 1024
/** by how much the clock of the writer that created the feed may be ahead */
const CLOCKS_MS = 2000

/**
 * @param {import('./queries.js').Queries} queries
 * @param {import('../feeds/index.js').Definition} definition
 * @param {Options} options
 * @returns {AsyncGenerator<Change>}
 */
export async function * subscribeToLog (queries, definition, { from, isNew, signal, pollMs, now, retry }) {
  const { feed, partitions } = definition
  const createdMs = createdMsOf(definition)
  const size = createEntriesAtOnce()
  const valueSize = createReadSize()
  const position = typeof from === 'string' ? decodeOffsets(feed, from, partitions) : null
  if (typeof from === 'string') checkCreation(definition, from)
  let readMs = position?.readMs ?? Math.max(0, isNew ? createdMs - CLOCKS_MS : now() - UNKNOWN_LAG_MS)
  /** @type {import('./queries.js').Reads | undefined} */
  let node

  const begun = await retry(() => queries.ofLog(feed, async (connection, { definition: current, log, keys }) => {
    checkSame(definition, current)
    const share = SCANNED_BYTES / partitions
    const from = { position, isNew, share, readMs }
    return { parts: await Promise.all(keys.map((key, partition) => beginPart(connection, log, key, { ...from, partition }))) }
  }))
  if (begun === null) return
  /** @type {Part[]} */
  const parts = begun.parts

  while (!signal.aborted) {
    const begunMs = performance.now()
    const reply = await retry(() => queries.ofLog(feed, async (connection, { definition: current, log, keys }) => {
      checkSame(definition, current)
      const count = size.of(MAX_ENTRIES, partitions)
      const read = await readBehind(connection, { feed, parts, log, count, definition: current, nowMs: now() })
      const { layout } = definition
      return log.isIndex ? { ...read, ...await readArrived(connection, { layout, keys, found: read.found, size: valueSize }) } : read
    }, node))
    if (reply === null) return
    const readingMs = performance.now() - begunMs
    /** @type {import('./log-resume.js').Read & { versions?: Arrived, isCut?: boolean }} */
    const { found, isSure, count, log, versions: arrived, isCut = false } = reply
    node = reply.node
    for (const [i, entries] of found.entries()) {
      size.learn(entries, ({ bytes }) => bytes.length)
      for (const entry of entries) {
        const part = parts[i]
        const { versions, origin } = versionsOf(log, entry, part, arrived)
        const delivered = entry.entryId === part.entryId ? part.versions : 0
        const offsets = parts.map(({ entryId, versions, sinceMs }) => ({ entryId, versions, isEnd: sinceMs >= readMs }))
        offsets[i].entryId = entry.entryId
        for (let done = delivered + 1; done <= versions.length; done++) {
          part.entryId = entry.entryId
          part.versions = done === versions.length ? 0 : done
          const version = versions[done - 1]
          if (version === null) continue
          yield changeOf(version, { feed, createdMs, readMs, offsets, partition: i, versions: part.versions })
          if (signal.aborted) return
        }
        part.entryId = entry.entryId
        part.versions = 0
        if (origin !== null) part.origins.add(origin)
      }
    }
    const confirmedMs = Math.max(0, reply.asOf - (reply.lagMs ?? UNKNOWN_LAG_MS))
    parts.forEach((part, i) => { if (isSure[i]) part.sinceMs = !isCut && found[i].length < count ? confirmedMs : 0 })
    readMs = confirmedMs
    if (isCut || found.some((entries) => entries.length === count)) continue
    await sleep(Math.max(pollMs, readingMs), undefined, { signal }).catch(() => {})
  }
}

/**
 * @param {import('../layouts/index.js').Log} log @param {import('../layouts/index.js').LogEntry} entry @param {Part} part
 * @param {Arrived} [arrived] versions of a log of arrivals
 * @returns {{ versions: (Version | null)[], origin: string | null }} null = skipped; none of an entry that is unreadable or was
 *   delivered before
 */
function versionsOf (log, entry, { origins }, arrived) {
  /** @type {Version[]} */
  const versions = []
  const head = headOf(log, entry)
  if (head === null || origins.has(head.origin)) return { versions, origin: null }
  if (arrived) return arrived.has(entry) ? { versions: arrived.get(entry) ?? [], origin: head.origin } : { versions, origin: null }
  try {
    log.each(entry.bytes, (bytes, idAt, idEnd, ts, seq, deleted, valueAt, valueEnd) => {
      // copied, so a caller that keeps one value does not keep the whole entry
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
 * @param {{ feed: string, createdMs: number, readMs: number, offsets: Offset[], partition: number, versions: number }} at `versions`
 *   delivered in this `partition`
 * @returns {Change}
 */
function changeOf ({ id, ts, value }, { feed, createdMs, readMs, offsets, partition, versions }) {
  return /** @type {Change} */ ({
    id,
    ts,
    value,
    deleted: value === null,
    // encoded on access: most are never read
    get position () {
      return encodeOffsets(feed, {
        readMs,
        offsets: offsets.map(({ entryId, versions: delivered, isEnd }, i) => {
          const [ms, n] = entryId.split('-').map(Number)
          return { ms, n, versions: i === partition ? versions : delivered, isEnd }
        })
      }, createdMs)
    }
  })
}
