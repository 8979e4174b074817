/**
 * What a writer does besides sending batches, once a second: it looks at the definition, which may have another retention
 * by now or be gone, notes how much it wrote, keeps the feed trimmed, and says when the server takes no writes.
 *
 * First it asks whether the server is a primary still. One that was made a replica keeps its connections, so this one would
 * stay there for ever while batches go to the new one: it is closed, and the next finds that one, as a writer's that is idle.
 *
 * A log of which a number of versions is kept is trimmed more often while much is written: what comes between two rounds
 * lies there in addition.
 */
import { agree, expectAgreed, readDefinition } from '../feeds/definitions.js'
import { expectStillPrimary } from '../store/nodes.js'
import { createNotes } from './notes.js'
import { createTrimmer } from './trimmer.js'

const ROUND_MS = 1000
const TRIM_MS = 100
/** of maxItems: when so many came, it is time to trim */
const TRIM_SHARE = 1 / 16

/** @typedef {import('../feeds/definitions.js').Definition} Definition */

/**
 * @param {{ control: import('../store/link.js').Link, pipeline: import('./pipeline.js').Pipeline,
 *   layout: import('../layouts/index.js').Layout, key: (partition: number) => (part: string) => string, keyPrefix: string,
 *   wanted: Omit<Definition, 'createdAt'>, definition: Definition, name: string,
 *   look: ((connection: import('../store/connection.js').Connection) => Promise<void>) | null,
 *   log: import('pino').Logger }} parts `name`: of the writer, as lease; `look`: at the clock of the server
 */
export function keepHouse ({ control, pipeline, layout, key, keyPrefix, wanted, definition, name, look, log }) {
  const { feed, partitions } = wanted
  const trimmer = createTrimmer({ layout, key, partitions, name, now: Date.now, log })
  const notes = createNotes({ keyPrefix, feed, name, items: () => pipeline.account.items, now: Date.now, log })
  const sayIfFull = createFullReport(log)
  let keptAt = -1
  let trimmedAt = 0
  /** @type {Error & { code?: string } | null} the user may not keep house, so it may not append either, or not for long */
  let error = null
  /** @type {Promise<void> | null} */
  let running = null

  async function lookAround () {
    const primary = control.connection
    if (!primary || pipeline.failure) return
    sayIfFull(pipeline.isFull)
    const { batches } = pipeline.account
    const idle = batches === keptAt
    try {
      await expectStillPrimary(primary)
      // a feed that was dropped while nobody wrote to it stays so
      const stored = idle
        ? expectAgreed(await readDefinition(primary, keyPrefix, feed), wanted)
        : await agree(primary, keyPrefix, { ...wanted, windowMs: definition.windowMs, maxItems: definition.maxItems })
      keptAt = batches
      if (stored.windowMs !== definition.windowMs || stored.maxItems !== definition.maxItems) {
        log.info({ windowMs: stored.windowMs, maxItems: stored.maxItems }, 'retention changed')
        definition = stored
        pipeline.setRetention(stored)
      }
      await look?.(primary)
      await notes.write(primary)
      if (!idle) await trim(primary)
      error = null
    } catch (caught) {
      if (caught.outcome === 'over') primary.close(caught.message)
      if (caught.code === 'FEED_UNKNOWN') await notes.remove(primary)
      error = caught.outcome === 'forbidden' ? caught : null
      if (caught.code === 'FEED_DEFINITION_DIFFERS') pipeline.fail(caught)
      else if (!(idle && caught.code === 'FEED_UNKNOWN')) log.warn({ code: caught.code, reason: caught.message }, 'housekeeping failed, again in a second')
    }
  }

  /** What came since the last round may have met a feed that was dropped. @param {import('../store/connection.js').Connection} primary */
  async function agreeOnTheLast (primary) {
    if (pipeline.failure || pipeline.account.batches <= Math.max(keptAt, 0)) return
    await agree(primary, keyPrefix, { ...wanted, windowMs: definition.windowMs, maxItems: definition.maxItems }).catch((caught) => {
      if (caught.code === 'FEED_DEFINITION_DIFFERS') pipeline.fail(caught)
      log.error({ code: caught.code, reason: caught.message }, 'what was written last may have no definition, so nobody reads it')
    })
  }

  /** @param {import('../store/connection.js').Connection} primary */
  async function trim (primary) {
    trimmedAt = pipeline.account.items
    await trimmer.round(primary, definition)
  }

  async function trimIfMuchCame () {
    const primary = control.connection
    // a failure shows in the next round of the house
    if (primary && definition.maxItems > 0 && pipeline.account.items - trimmedAt > definition.maxItems * TRIM_SHARE) await trim(primary).catch(() => {})
  }

  /** @param {() => Promise<void>} work */
  const run = (work) => { running ??= work().finally(() => { running = null }) }
  const timers = [setInterval(() => run(lookAround), ROUND_MS)]
  if (layout.describe().trims === 'entries') timers.push(setInterval(() => run(trimIfMuchCame), TRIM_MS))

  return {
    /** As it was stored lately. */
    get definition () { return definition },
    get trimmed () { return trimmer.removed },
    get error () { return error },
    stop () {
      timers.forEach(clearInterval)
      trimmer.stop()
    },
    /** Ends what runs, sees to it that what was written since has its definition, removes its note, and gives the leases back. */
    async close () {
      await running
      // it may be lost meanwhile
      const primary = control.connection
      if (!primary) return
      await agreeOnTheLast(primary)
      await notes.remove(primary)
      await trimmer.release(primary).catch(() => {})
    }
  }
}

/** Says when the server takes no writes, and when it does again. @param {import('pino').Logger} log */
function createFullReport (log) {
  let wasFull = false
  return (/** @type {boolean} */ isFull) => {
    if (isFull && !wasFull) log.warn('the server takes no writes now (memory, replicas or disk): what is appended waits, and the server is asked on')
    if (!isFull && wasFull) log.info('the server takes writes again')
    wasFull = isFull
  }
}
