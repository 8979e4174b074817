/**
 * A feed opened for writing: the agreed definition, connections for batches (stripes.js), and one control connection to each primary
 * for everything else (definition, trimming, figures), so that maintenance never waits behind 16 MiB of items.
 *
 * With `isLazy` the first accepted item creates the feed: batches get their connections after the definition. So a run of input
 * that stores nothing leaves no feed, whose retention the next run would have to accept.
 */
import { randomUUID } from 'node:crypto'
import { ERRORS, publicReason } from '../errors.js'
import { definitionOf, expiryMs, findDefinition, partitionKey } from '../feeds/index.js'
import { layoutOf } from '../layouts/index.js'
import { createPrimaries, expectPrimary, expectReplicas, readScript } from '../store/index.js'
import { ackOf, stripesOf } from './acks.js'
import { createAgreement } from './agreement.js'
import { guardedHooks } from './hooks.js'
import { startMaintenance } from './maintenance.js'
import { openDefinition, settledBy } from './opening.js'
import { createPipeline } from './pipeline.js'
import { createStripes } from './stripes.js'

/** of the deadline: WAIT must return before the connection counts as silent */
const WAIT_SHARE = 0.5

/** @typedef {Awaited<ReturnType<typeof openFeedWriter>>} FeedWriter */
/** @typedef {import('../layouts/index.js').Retention} Retention for the published types */

/**
 * @typedef {{ redisUrl: string, keyPrefix: string, feed: string, layout: string, partitions: number, windowMs: number,
 *   maxItems: number, maxFutureMs: number, late: 'newest' | 'overwrite', compress?: 'none' | 'brotli', name: string, deadlineMs: number,
 *   batchItems: number, batchBytes: number, batchMs: number, inFlightBytes: number, whenFull: 'block' | 'refuse' | 'drop',
 *   ack: string | import('./acks.js').Ack, clock: () => number, log: import('pino').Logger }
 *   & import('./hooks.js').Hooks & { asked?: Record<string, any>, isLazy?: boolean }} FeedWriterOptions
 *   `asked`: what the caller set explicitly, of layout, partitions, late and retention; without it, everything but retention; `isLazy`:
 *   the first accepted item creates the feed
 */

/**
 * @param {FeedWriterOptions} options
 * @throws {import('../errors.js').FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED, REPLICAS_TOO_FEW, FEED_DEFINITION_DIFFERS,
 *   FEED_LAYOUT_UNKNOWN
 */
export async function openFeedWriter (options) {
  const { redisUrl, keyPrefix, maxFutureMs, name, deadlineMs, log } = options
  // unique: process ids repeat between containers, and a feed that is opened again is another writer
  const writerName = `${name}-${randomUUID()}`
  const primaries = createPrimaries(redisUrl, { name: `${name}:control`, deadlineMs, prepare: expectPrimary })
  const confirmation = createConfirmation(log, ackOf(options.ack).replicas)
  const opened = await openStripes(options, { primaries, writerName }).catch(async (error) => {
    await primaries.close()
    throw error
  })
  const { layout, settled, wanted, ack, key, buckets, stripes, definition, isStored, origin } = opened

  const hooks = guardedHooks(options, log)
  const pipeline = createPipeline({
    ack,
    send: createSend({
      ack,
      layout,
      markerKeys: buckets.map((key, bucket) => key(`marker:${writerName}:${bucket}`)),
      deadlineMs,
      confirmation,
      onUnconfirmed: (bucket) => confirmation.missing(bucket, pipeline.account)
    }),
    createBatch: (partition, retention) => layout.createBatch({
      key: key(partition),
      late: settled.late,
      ttlMs: expiryMs(retention, maxFutureMs),
      clock: options.clock,
      maxItems: retention.maxItems,
      origin,
      compress: options.compress,
      dialect: { msetex: stripes.msetex, mayWatch: !ack.grouped, sha: (script) => readScript(script).sha }
    }),
    isAlone: layout.isAlone,
    retention: definition,
    ...pipelineSettings(settled),
    ...hooks,
    onBegin: () => maintenance.waiting(),
    onFlush (seconds) {
      maintenance.acknowledged()
      hooks.onFlush?.(seconds)
    }
  })
  /** The feed is stored: batches may be sent. */
  const start = () => stripes.start({ pipeline, origin })

  const agreement = createAgreement({ pipeline, keyPrefix, wanted, definition, isStored, onStored: start, log })
  const maintenance = startMaintenance({
    primaries, pipeline, layout, key, keyPrefix, agreement, name: writerName, log, syncClocks: layout.log ? stripes.syncClocks : null
  })
  if (isStored) start()

  return {
    pipeline,
    /** As stored, or as the first accepted item will store it. */
    get definition () { return agreement.definition },
    get isStored () { return agreement.isStored },
    /** Resolves when the feed is stored, or the writer closed. */
    settled: agreement.settled,
    get trimmed () { return maintenance.trimmed },
    /** How far back the feed reaches if `maxItems` ends before the window, ms; null = the window decides. */
    get keptMs () { return maintenance.keptMs },
    get connected () { return stripes.isConnected },
    /** Connections opened for batches. */
    get sessions () { return stripes.sessions },
    status: () => statusOf({ ack, pipeline, stripes, primaries, maintenance, confirmation }),

    /** @param {{ drainMs: number }} drain */
    async close ({ drainMs }) {
      maintenance.stop()
      await pipeline.close({ drainMs })
      // what waited for the definition has failed by now, so its reply need not be waited for
      if (!agreement.isStored) await primaries.close()
      await maintenance.close()
      agreement.end()
      await Promise.all([primaries.close(), stripes.close()])
    }
  }
}

/**
 * @param {{ ack: import('./acks.js').Ack, layout: import('../layouts/index.js').Layout, markerKeys: string[],
 *   deadlineMs: number, confirmation: ReturnType<typeof createConfirmation>, onUnconfirmed: (bucket: number) => void }} parts
 *   `markerKeys`: by bucket
 * @returns {import('./pipeline.js').PipelineOptions['send']}
 */
function createSend ({ ack, layout, markerKeys, deadlineMs, confirmation, onUnconfirmed }) {
  const contexts = markerKeys.map((key, bucket) => ({
    append: layout.append,
    marker: { key, value: 0 },
    waitMs: Math.max(1, Math.floor(deadlineMs * WAIT_SHARE)),
    onUnconfirmed: () => onUnconfirmed(bucket)
  }))
  return async (bucket, connection, batches) => {
    const answers = await ack.send(connection, batches, contexts[bucket])
    confirmation.received(bucket)
    return answers
  }
}

/**
 * Connections for batches, which are encoded by the stored definition, or by that of a new feed.
 * @param {FeedWriterOptions} options @param {{ primaries: import('../store/index.js').Primaries, writerName: string }} parts
 */
async function openStripes (options, { primaries, writerName }) {
  const { redisUrl, keyPrefix, feed, name, deadlineMs, log } = options
  await primaries.opened
  if (typeof options.ack === 'string') await expectReplicas(primaries.connections, options.ack, 'ack')
  const before = await findDefinition(primaries.router, keyPrefix, feed)
  const settled = settledBy(before, options)
  const layout = layoutOf(settled.layout)
  const wanted = definitionOf(settled, before)
  const { partitions, late } = settled
  const asked = ackOf(options.ack)
  const ack = { ...asked, stripes: stripesOf(asked, partitions) }
  const keys = Array.from({ length: partitions }, (_, partition) => partitionKey(keyPrefix, wanted, partition))
  const key = (/** @type {number} */ partition) => keys[partition]
  const buckets = Array.from({ length: ack.stripes * partitions }, (_, bucket) => keys[bucket % partitions])
  const stripes = createStripes({ redisUrl, name, deadlineMs, keys: buckets.map((one) => one('')), layout, late, log })
  try {
    await stripes.opened
    const { serverMs } = stripes
    const opened = await openDefinition(primaries.router, {
      before, options, wanted, key: key(0), layout, name: writerName, serverMs
    })
    return { layout, settled, wanted, ack, key, buckets, stripes, ...opened }
  } catch (error) {
    await stripes.close()
    throw error
  }
}

/** @param {FeedWriterOptions} options */
const pipelineSettings = (options) => ({
  partitions: options.partitions,
  maxFutureMs: options.maxFutureMs,
  flushAt: { items: options.batchItems, bytes: options.batchBytes, ms: options.batchMs },
  inFlightBytes: options.inFlightBytes,
  whenFull: options.whenFull,
  clock: options.clock
})

/**
 * Whether items are being acknowledged, or would be: an idle writer learns of its primary by the control connection.
 * @param {{ ack: import('./acks.js').Ack, pipeline: import('./pipeline.js').Pipeline, stripes: import('./stripes.js').Stripes,
 *   primaries: import('../store/index.js').Primaries, maintenance: ReturnType<typeof startMaintenance>,
 *   confirmation: ReturnType<typeof createConfirmation> }} parts
 * @returns {{ ready: boolean, reasons: string[] }}
 */
function statusOf ({ ack, pipeline, stripes, primaries, maintenance, confirmation }) {
  const lost = stripes.lost ?? primaries.lost
  const error = pipeline.failure ?? lost?.lastError ?? maintenance.error
  const reasons = error ? [publicReason(error)] : []
  if (!error && lost) reasons.push('SERVER_LOST: reconnecting to the primary')
  if (stripes.blocked) reasons.push(`SERVER_LOST: ${stripes.blocked}`)
  if (pipeline.isFull) reasons.push(`SERVER_FULL: ${ERRORS.SERVER_FULL.meaning}`)
  if (confirmation.isMissing) reasons.push(`REPLICAS_GONE: ${unconfirmedBy(ack.replicas)}`)
  return { ready: reasons.length === 0, reasons }
}

// Tracks on which stripes too few replicas confirm, and logs when that begins and ends.

const LOG_AGAIN_MS = 10_000

/** @param {number} needed replicas */
const unconfirmedBy = (needed) => needed > 1 ? `fewer than ${needed} replicas confirm writes` : 'no replica confirms writes'

/** @param {import('pino').Logger} log @param {number} needed replicas */
function createConfirmation (log, needed) {
  /** @type {Set<number>} */
  const missing = new Set()
  let loggedMs = -Infinity
  let isLogged = false
  return {
    get isMissing () { return missing.size > 0 },
    /** @param {number} stripe @param {import('./account.js').Account} account */
    missing (stripe, account) {
      account.unconfirmed++
      missing.add(stripe)
      if (performance.now() - loggedMs < LOG_AGAIN_MS) return
      loggedMs = performance.now()
      isLogged = true
      log.warn(`${unconfirmedBy(needed)}: items stay unacknowledged until ${needed > 1 ? 'they do' : 'one does'}`)
    },
    /** @param {number} stripe */
    received (stripe) {
      if (!missing.delete(stripe) || missing.size > 0 || !isLogged) return
      isLogged = false
      log.info('replicas confirm writes again')
    }
  }
}
