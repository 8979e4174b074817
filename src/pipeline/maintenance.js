/**
 * What a writer does once a second besides sending batches: it checks the definition (changed retention, dropped feed),
 * writes its heartbeat, trims the feed, and logs when the server accepts no writes. It does so at once when the first item of a
 * feed waits for the definition, and when items were acknowledged after a pause, so that readers soon show them.
 *
 * Each round first checks that each server is still a primary. A demoted server keeps its connections, so the control
 * connection would stay on it while batches go to the new primary; it is closed, and the link finds the new one.
 *
 * A log layout with `maxItems` is trimmed more often at high rates, because entries that arrive between two rounds are
 * stored in addition.
 */
import { HEARTBEAT_KEPT_MS, HEARTBEATS_EXPIRE_MS, heartbeatText, keptMs, keptText, readHeartbeats, writersKey } from '../feeds/index.js'

const ROUND_MS = 1000
const TRIM_MS = 100
/** of maxItems: trim after so many appended items */
const TRIM_SHARE = 1 / 16

/**
 * @param {{ primaries: import('../store/index.js').Primaries, pipeline: import('./pipeline.js').Pipeline,
 *   layout: import('../layouts/index.js').Layout, key: (partition: number) => (part: string) => string, keyPrefix: string,
 *   agreement: ReturnType<typeof import('./feed-writer.js').createAgreement>, name: string,
 *   syncClocks: (() => Promise<unknown>) | null, log: import('pino').Logger }} parts `name`: of the writer, for its lease
 */
export function startMaintenance ({ primaries, pipeline, layout, key, keyPrefix, agreement, name, syncClocks, log }) {
  const { feed, partitions } = agreement.definition
  const { router } = primaries
  const trimmer = createTrimmer({ layout, key, partitions, keyPrefix, name, now: Date.now, log })
  const heartbeats = createHeartbeats({ keyPrefix, feed, name, items: () => pipeline.account.items, now: Date.now, log })
  const logFull = createFullLog(log)
  let trimmedAt = 0
  /** the last round found nothing new */
  let isQuiet = true
  let isClosed = false
  /** @type {Error & { code?: string } | null} a missing permission */
  let error = null
  /** @type {Promise<void> | null} */
  let running = null

  async function round () {
    if (primaries.connections.length === 0 || pipeline.failure) return
    logFull(pipeline.isFull)
    const idle = agreement.isIdle
    isQuiet = idle || !agreement.isStored
    try {
      await primaries.check()
      await agreement.check(router)
      await syncClocks?.()
      await heartbeats.write(router)
      if (!idle) await trim()
      error = null
    } catch (caught) {
      if (caught.code === 'FEED_UNKNOWN') await heartbeats.remove(router)
      error = caught.outcome === 'forbidden' ? caught : null
      const isHopeless = !idle && !agreement.isStored && ['forbidden', 'refused'].includes(caught.outcome)
      if (isHopeless || caught.code === 'FEED_DEFINITION_DIFFERS') pipeline.fail(caught)
      else if (!(idle && caught.code === 'FEED_UNKNOWN')) {
        log.warn({ code: caught.code, reason: caught.message }, 'maintenance failed, retrying in a second')
      }
    }
  }

  async function trim () {
    trimmedAt = pipeline.account.items
    await trimmer.round(router, agreement.definition)
  }

  async function trimAtHighRate () {
    const { maxItems } = agreement.definition
    const isDue = maxItems > 0 && pipeline.account.items - trimmedAt > maxItems * TRIM_SHARE
    // the next round reports a failure
    if (isDue) await trim().catch(() => {})
  }

  /** @param {() => Promise<void>} work */
  const run = (work) => { running ??= work().finally(() => { running = null }) }
  async function runSoon () {
    await running
    if (!isClosed) run(round)
  }
  const timers = [setInterval(() => run(round), ROUND_MS)]
  if (layout.describe().trims === 'entries') timers.push(setInterval(() => run(trimAtHighRate), TRIM_MS))

  return {
    get trimmed () { return trimmer.removed },
    get keptMs () { return trimmer.keptMs(agreement.definition) },
    get error () { return error },
    /** An item waits to be sent. */
    waiting () { if (!agreement.isStored) runSoon() },
    /** Items were acknowledged. */
    acknowledged () {
      if (isQuiet) runSoon()
      isQuiet = false
    },
    /** Appended items may still need the definition. */
    stop () {
      if (agreement.isStored) timers.forEach(clearInterval)
      trimmer.stop()
    },
    /** Ends the running round, makes sure the last items have a definition, removes the heartbeat and releases the leases. */
    async close () {
      isClosed = true
      timers.forEach(clearInterval)
      await running
      if (primaries.connections.length === 0) return
      await agreement.checkLast(router)
      await trimmer.look(router, agreement.definition).catch(() => {})
      await heartbeats.remove(router)
      await trimmer.release(router).catch(() => {})
    }
  }
}

/** Logs when the server stops accepting writes, and when it accepts them again. @param {import('pino').Logger} log */
function createFullLog (log) {
  let wasFull = false
  return (/** @type {boolean} */ isFull) => {
    if (isFull && !wasFull) log.warn('the server accepts no writes now (memory, replicas or disk): appended items wait and are retried')
    if (!isFull && wasFull) log.info('the server accepts writes again')
    wasFull = isFull
  }
}

/**
 * Publishes how many items this writer has written (format: feeds/changes.js), for displays of the write rate. A failure
 * is logged once and never stops the writer. After a missing permission it is tried again each minute.
 */

const CLEAN_EVERY_MS = 30_000
const RETRY_MS = 60_000
/** fields removed at once */
const MAX_REMOVED = 1000

/** @typedef {import('../store/index.js').Router} Connection to all primaries */

/**
 * @param {{ keyPrefix: string, feed: string, name: string, items: () => number, now: () => number, log: import('pino').Logger }} parts
 *   `name`: of the writer; `items`: acknowledged so far; `now`: ms since 1970
 */
export function createHeartbeats ({ keyPrefix, feed, name, items, now, log }) {
  const key = writersKey(keyPrefix, feed)
  let isWritten = false
  let isLogged = false
  let nextAtMs = -Infinity
  let cleanAtMs = -Infinity

  /** @param {Error & { code?: string, outcome?: string }} error lost connections show elsewhere; refusals only here */
  function backOff (error) {
    if (error.outcome !== 'forbidden' && error.outcome !== 'refused') return
    nextAtMs = performance.now() + RETRY_MS
    if (!isLogged) {
      log.warn({ code: error.code, reason: error.message },
        'heartbeats cannot be written, so readers do not know the write rate; items are written all the same')
    }
    isLogged = true
  }

  /** Removes heartbeats of killed writers. @param {Connection} primary */
  async function clean (primary) {
    cleanAtMs = performance.now() + CLEAN_EVERY_MS
    const nowMs = now()
    const old = [...readHeartbeats(await primary.send('HGETALL', key))]
      .filter(([, heartbeat]) => heartbeat === null || Math.abs(nowMs - heartbeat.atMs) > HEARTBEAT_KEPT_MS).map(([writer]) => writer)
    if (old.length > 0) await primary.send('HDEL', key, ...old.slice(0, MAX_REMOVED))
  }

  return {
    /** @param {Connection} primary @returns {Promise<void>} never rejects */
    async write (primary) {
      if (performance.now() < nextAtMs) return
      try {
        await primary.sendAll([['HSET', key, name, heartbeatText({ items: items(), atMs: now() })], ['PEXPIRE', key, HEARTBEATS_EXPIRE_MS]])
        isWritten = true
        // a user without the permission to clean may still write
        if (performance.now() >= cleanAtMs) await clean(primary).catch(() => {})
      } catch (error) {
        backOff(error)
      }
    },

    /** @param {Connection} primary @returns {Promise<void>} never rejects */
    async remove (primary) {
      if (!isWritten) return
      isWritten = false
      await primary.send('HDEL', key, name).catch(() => {})
    }
  }
}

/** @typedef {Omit<import('../feeds/index.js').Definition, 'createdAt'>} Definition */

const LEASE_MS = 5000
/** work per round, all partitions together, so that a large backlog does not delay the renewal of leases */
const SLICE_MS = 900
const LOOK_EVERY_MS = 5000
const FIRST_LOOK_MS = 1000
/** clock skew allowed to readers */
const SKEW_MS = 1000

/**
 * Keeps a feed within its retention. Per partition one writer at a time holds the lease `trimmer` and removes expired items
 * in pieces.
 *
 * The lease only saves work. The trimming script removes nothing that was written after the check, so two holders at once
 * do no harm. A feed without writers expires by key expiry.
 *
 * Every few seconds it looks how far back the feed reaches, before it trims what `maxItems` excludes. If that is less than the window,
 * the writer with a lease logs it.
 * @param {{ layout: import('../layouts/index.js').Layout, key: (partition: number) => (part: string) => string,
 *   partitions: number, keyPrefix: string, name: string, now: () => number,
 *   log: import('pino').Logger }} parts `name`: holder of the lease
 */
function createTrimmer ({ layout, key, partitions, keyPrefix, name, now, log }) {
  /** @type {Set<number>} */
  const held = new Set()
  let removed = 0
  let lookAtMs = now() + FIRST_LOOK_MS
  /** how far back the feed reached when that was less than the window of that retention @type {{ ms: number, of: string } | null} */
  let short = null
  let isLogged = false
  const stopping = new AbortController()

  /** @param {import('../store/index.js').Router} primary @param {string} lease @returns {Promise<boolean>} */
  async function take (primary, lease) {
    if (await primary.send('SET', lease, name, 'NX', 'PX', LEASE_MS) !== null) return true
    if (String(await primary.send('GET', lease)) !== name) return false
    await primary.send('PEXPIRE', lease, LEASE_MS)
    return true
  }

  /**
   * @param {import('../store/index.js').Router} primary @param {number} partition
   * @param {import('../layouts/index.js').Retention} retention
   */
  async function trim (primary, partition, retention) {
    const partKey = key(partition)
    if (!await take(primary, partKey('trimmer'))) {
      held.delete(partition)
      return
    }
    held.add(partition)
    const until = now() + SLICE_MS / partitions
    let more = true
    while (more && !stopping.signal.aborted && now() < until) {
      const piece = await layout.trim(primary, partKey, { retention, nowMs: now() - SKEW_MS })
      removed += piece.removed
      more = piece.more
    }
    if (more && !stopping.signal.aborted) {
      log.warn({ partition, removed }, 'items expire faster than they are trimmed; memory of the server grows')
    }
  }

  /** @param {import('../store/index.js').Router} primary @param {Definition} definition */
  async function look (primary, definition) {
    lookAtMs = now() + LOOK_EVERY_MS
    const ms = await keptMs(primary, keyPrefix, definition, now())
    if (ms !== null) short = { ms, of: textOf(definition) }
    return ms
  }

  /** @param {number} ms @param {Definition} definition */
  function warn (ms, { feed, windowMs, maxItems }) {
    isLogged = true
    log.warn({ feed, keptMs: ms, windowMs, maxItems }, `the feed keeps ${keptText(ms, { windowMs })}, because ` +
      `each partition keeps the newest ${maxItems.toLocaleString('en')} (maxItems); to keep more: ` +
      `npx freshet feed set ${feed} --max-items N (0 = no limit)`)
  }

  return {
    /**
     * How far back the feed reached when it was last less than the window of this retention, ms; null = the window decides.
     * @param {import('../layouts/index.js').Retention} retention
     */
    keptMs: (retention) => short !== null && short.of === textOf(retention) ? short.ms : null,

    look,

    /** Items removed so far. */
    get removed () { return removed },

    /**
     * One round over all partitions.
     * @param {import('../store/index.js').Router} primary
     * @param {Definition} definition
     * @throws {import('../errors.js').FreshetError} what a partition met first; the others are trimmed all the same
     */
    async round (primary, definition) {
      /** @type {Error | null} */
      let failure = null
      const kept = now() < lookAtMs
        ? null
        : await look(primary, definition).catch((error) => {
          failure = error
          return null
        })
      for (let partition = 0; partition < partitions; partition++) {
        await trim(primary, partition, definition).catch((error) => { failure ??= error })
      }
      if (kept !== null && held.size > 0 && !isLogged) warn(kept, definition)
      if (failure) throw failure
    },

    /** Ends the running round after its current piece. */
    stop () { stopping.abort() },

    /** Releases the leases. @param {import('../store/index.js').Router} primary */
    async release (primary) {
      for (const partition of held) {
        const lease = key(partition)('trimmer')
        if (String(await primary.send('GET', lease)) === name) await primary.send('DEL', lease)
      }
      held.clear()
    }
  }
}

/** @param {import('../layouts/index.js').Retention} retention */
const textOf = ({ windowMs, maxItems }) => `${windowMs} ${maxItems}`
