/**
 * A feed opened for writing: its definition agreed, a connection for batches, another for everything else
 * (definition, trimming, figures), so that housekeeping never waits behind 16 MiB of items.
 */
import { randomUUID } from 'node:crypto'
import { agree, readDefinition } from '../feeds/definitions.js'
import { expiryMs } from '../feeds/extend.js'
import { partitionKey } from '../feeds/keys.js'
import { FreshetError } from '../errors.js'
import { layoutOf } from '../layouts/index.js'
import { createLink } from '../store/link.js'
import { capabilities, nodeFigures } from '../store/nodes.js'
import { readScript } from '../store/scripts.js'
import { createPipeline } from './pipeline.js'
import { createTrimmer } from './trimmer.js'

const HOUSEKEEPING_MS = 1000

/** @typedef {Awaited<ReturnType<typeof openFeedWriter>>} FeedWriter */

/**
 * @param {{ redisUrl: string, keyPrefix: string, feed: string, layout: string, partitions: number, windowMs: number,
 *   maxItems: number, maxFutureMs: number, late: 'overwrite' | 'drop', name: string, deadlineMs: number,
 *   batchItems: number, batchBytes: number, batchMs: number, inFlightBytes: number, whenFull: 'block' | 'refuse' | 'drop',
 *   clock: () => number, log: import('pino').Logger }
 *   & Pick<import('./pipeline.js').PipelineOptions, 'onFlush' | 'onBehind' | 'onRefused'>} options
 * @throws {FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED, FEED_DEFINITION_DIFFERS, FEED_LAYOUT_UNKNOWN
 */
export async function openFeedWriter (options) {
  const { redisUrl, keyPrefix, feed, partitions, maxFutureMs, late, name, deadlineMs, log } = options
  const layout = layoutOf(options.layout)
  const wanted = { feed, layout: layout.name, partitions, windowMs: options.windowMs, maxItems: options.maxItems, format: layout.format }
  const key = (/** @type {number} */ partition) => partitionKey(keyPrefix, feed, partition)

  /** @type {import('./pipeline.js').Pipeline | null} */
  let pipeline = null
  let msetex = false
  const fence = createFence()
  const items = createLink(redisUrl, {
    name: `${name}:items`,
    deadlineMs,
    async prepare (connection) {
      await fence(connection, await expectPrimary(connection))
      const found = await capabilities(connection)
      if (pipeline && msetex && !found.msetex) throw new FreshetError('SERVER_REFUSED', `the server at ${connection.address} has no MSETEX, the one before had it; restart the writer`)
      if (found.msetex === null) log.warn('this user may not ask for MSETEX (COMMAND INFO), so each item is one SET')
      msetex = found.msetex ?? false
      if (late === 'drop') await connection.send('SCRIPT', 'LOAD', readScript('append-ids').body)
    },
    onOpen: (connection) => pipeline?.attach(connection),
    onClosed (reason) {
      log.warn({ reason }, 'connection to the primary lost, opening the next')
      pipeline?.detach()
    },
    onError (error) { if (pipeline) log.warn({ code: error.code, reason: error.message }, 'the primary cannot be used, trying on') }
  })
  const control = createLink(redisUrl, { name: `${name}:control`, deadlineMs, prepare: expectPrimary })

  /** @type {import('../feeds/definitions.js').Definition} */
  let definition
  try {
    const [primary] = await Promise.all([control.opened, items.opened])
    definition = await agree(primary, keyPrefix, wanted)
  } catch (error) {
    await Promise.all([control.close(), items.close()])
    throw error
  }
  pipeline = createPipeline({
    layout,
    partitions,
    createBatch: (partition, retention) => layout.createBatch({
      key: key(partition),
      late,
      ttlMs: expiryMs(retention, maxFutureMs),
      dialect: { msetex, sha: (script) => readScript(script).sha }
    }),
    retention: definition,
    maxFutureMs,
    flushAt: { items: options.batchItems, bytes: options.batchBytes, ms: options.batchMs },
    inFlightBytes: options.inFlightBytes,
    whenFull: options.whenFull,
    clock: options.clock,
    onFlush: options.onFlush,
    onBehind: options.onBehind,
    onRefused: options.onRefused
  })
  if (items.connection) pipeline.attach(items.connection)

  // process ids are the same in every container
  const trimmer = createTrimmer({ layout, key, partitions, name: `${name}-${randomUUID()}`, now: Date.now, log })
  let keptAt = -1
  /** @type {Promise<void> | null} */
  let round = null
  const timer = setInterval(() => { round ??= keepHouse().finally(() => { round = null }) }, HOUSEKEEPING_MS)

  async function keepHouse () {
    const primary = control.connection
    if (!primary || !pipeline || pipeline.failure) return
    const idle = pipeline.account.batches === keptAt
    keptAt = pipeline.account.batches
    try {
      // a feed that was dropped while nobody wrote to it stays so
      const stored = idle
        ? await readDefinition(primary, keyPrefix, feed)
        : await agree(primary, keyPrefix, { ...wanted, windowMs: definition.windowMs, maxItems: definition.maxItems })
      if (stored.windowMs !== definition.windowMs || stored.maxItems !== definition.maxItems) {
        log.info({ windowMs: stored.windowMs, maxItems: stored.maxItems }, 'retention changed')
        definition = stored
        pipeline.setRetention(stored)
      }
      if (!idle) await trimmer.round(primary, definition)
    } catch (error) {
      if (error.code === 'FEED_DEFINITION_DIFFERS') pipeline.fail(error)
      else if (!(idle && error.code === 'FEED_UNKNOWN')) log.warn({ code: error.code, reason: error.message }, 'housekeeping failed, again in a second')
    }
  }

  return {
    pipeline,
    get definition () { return definition },
    get trimmed () { return trimmer.removed },
    get connected () { return items.connection !== null },
    get epochs () { return items.epochs },
    /** @param {{ drainMs: number }} drain */
    async close ({ drainMs }) {
      clearInterval(timer)
      trimmer.stop()
      await pipeline.close({ drainMs })
      await round
      if (control.connection) await trimmer.release(control.connection).catch(() => {})
      await Promise.all([control.close(), items.close()])
    }
  }
}

/** @param {import('../store/connection.js').Connection} connection */
async function expectPrimary (connection) {
  const figures = await nodeFigures(connection)
  if (figures.loading) throw new FreshetError('SERVER_LOST', `the server at ${connection.address} is loading its data`)
  if (figures.role !== 'primary') throw new FreshetError('SERVER_REFUSED', `the server at ${connection.address} is a replica; give the address of its primary`)
  return figures
}

/**
 * What an ended epoch had sent may still be under way, and would arrive after it was sent again and overwritten. So
 * the next epoch has the server drop the one before, if it is the same server still: ids of clients are its own.
 */
function createFence () {
  /** @type {{ runId: string, clientId: number } | null} */
  let before = null
  return async (/** @type {import('../store/connection.js').Connection} */ connection, /** @type {{ runId: string }} */ { runId }) => {
    if (before?.runId === runId) await connection.send('CLIENT', 'KILL', 'ID', before.clientId)
    before = { runId, clientId: await connection.send('CLIENT', 'ID') }
  }
}
