/**
 * A feed opened for writing: the agreed definition, connections for batches (stripes.js), and one control connection to each primary
 * for everything else (definition, trimming, figures), so that maintenance never waits behind 16 MiB of items.
 *
 * With `isLazy` the first accepted item creates the feed: batches get their connections after the definition. So a run of input
 * that stores nothing leaves no feed, whose retention the next run would have to accept.
 */
import { randomUUID } from 'node:crypto'
import { asError, cutText, ERRORS, publicReason } from '../errors.js'
import { agree, definitionOf, expectAgreed, expiryMs, findDefinition, partitionKey, readDefinition } from '../feeds/index.js'
import { createOrigin, layoutOf } from '../layouts/index.js'
import { createPrimaries, expectPrimary, expectReplicas, readScript } from '../store/index.js'
import { ackOf, stripesOf } from './acks.js'
import { startMaintenance } from './maintenance.js'
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
 *   & Hooks & { asked?: Record<string, any>, isLazy?: boolean }} FeedWriterOptions
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
  const wanted = definitionOf(settled)
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

const LOG_AGAIN_MS = 10_000

/** @param {number} needed replicas */
const unconfirmedBy = (needed) => needed > 1 ? `fewer than ${needed} replicas confirm writes` : 'no replica confirms writes'

/**
 * Tracks on which stripes too few replicas confirm, and logs when that begins and ends.
 * @param {import('pino').Logger} log @param {number} needed replicas
 */
function createConfirmation (log, needed) {
  /** @type {Set<number>} */
  const missing = new Set()
  let loggedMs = -Infinity
  let isLogged = false
  return {
    get isMissing () { return missing.size > 0 },
    /** @param {number} stripe @param {import('./delivery.js').Account} account */
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

/**
 * The definition that a writer begins with, the stored one or that of a new feed, and the origin of its entries in a log.
 * @param {import('../store/index.js').Router} primary
 * @param {{ before: import('../feeds/index.js').Definition | null, options: FeedWriterOptions,
 *   wanted: Omit<import('../feeds/index.js').Definition, 'createdAt'>, key: (part: string) => string,
 *   layout: import('../layouts/index.js').Layout, name: string, serverMs: () => number }} parts `before`: as it was stored at the start;
 *   `key`: of partition 0
 */
async function openDefinition (primary, { before, options, wanted, key, layout, name, serverMs }) {
  const { keyPrefix, maxFutureMs, log } = options
  const stored = options.isLazy ? before && expectAgreed(before, wanted) : await agree(primary, keyPrefix, wanted)
  const definition = stored ?? { ...wanted, createdAt: new Date().toISOString() }
  if (stored) warnOfRetention(stored, options.asked, log)
  const nowMs = serverMs()
  // names are unique; only a log shows the order of its writers
  const epoch = stored && layout.log
    ? await nextEpoch(primary, key('epoch'), { ttlMs: expiryMs(stored, maxFutureMs), nowMs })
    : firstEpoch(nowMs)
  return { definition, isStored: stored !== null, origin: createOrigin({ name, epoch, serverMs }) }
}

/**
 * Of an existing feed, what the caller did not ask for is as it is stored.
 * @param {import('../feeds/index.js').Definition | null} stored @param {FeedWriterOptions} options
 * @returns {FeedWriterOptions}
 */
function settledBy (stored, options) {
  const { asked } = options
  if (stored === null || asked === undefined) return options
  const { layout, partitions, late = 'newest' } = stored
  return { ...options, ...Object.fromEntries(Object.entries({ layout, partitions, late }).filter(([name]) => !(name in asked))) }
}

/**
 * The first writer sets the retention, so the stored one may differ from what was asked for.
 * @param {import('../feeds/index.js').Definition} definition @param {FeedWriterOptions['asked']} asked
 * @param {import('pino').Logger} log
 */
function warnOfRetention (definition, asked, log) {
  for (const [name, flag] of /** @type {const} */ ([['windowMs', '--window-ms'], ['maxItems', '--max-items']])) {
    const wanted = asked?.[name]
    if (wanted === undefined || wanted === definition[name]) continue
    const { feed, [name]: stored } = definition
    log.warn({ feed, [name]: stored }, `the feed is stored with ${name} ${stored}, so ${wanted} has no effect; to change it: npx freshet ` +
      `feed set ${feed} ${flag} ${wanted}, with the same --redis-url`)
  }
}

/** Of a feed that is not stored: less than that of a later opening, which counts from its time. @param {number} nowMs */
const firstEpoch = (nowMs) => Math.floor(nowMs / 1000)

/**
 * The epoch tells a writer from an earlier one of the same name. It counts from the time of the server, so that it rises
 * even after the key expired. After a failover it may repeat; the random part of the name still differs.
 * @param {import('../store/index.js').Router} primary @param {string} name of the key
 * @param {{ ttlMs: number, nowMs: number }} options `ttlMs`: of the stored items, 0 = no expiry
 * @returns {Promise<number>}
 */
async function nextEpoch (primary, name, { ttlMs, nowMs }) {
  await primary.send('SET', name, Math.floor(nowMs / 1000), 'NX')
  const epoch = await primary.send('INCRBY', name, 1)
  if (ttlMs > 0) await primary.send('PEXPIRE', name, ttlMs)
  return epoch
}

/** @typedef {import('../feeds/index.js').Definition} Definition */
/** @typedef {import('../store/index.js').Router} Connection to all primaries */

/**
 * The definition of an open feed: created by its first accepted item, followed while the feed is open.
 * @param {{ pipeline: import('./pipeline.js').Pipeline, keyPrefix: string, wanted: Omit<Definition, 'createdAt'>,
 *   definition: Definition, isStored: boolean, onStored: () => void, log: Pick<import('pino').Logger, 'info' | 'error'> }} parts
 *   `definition`: as stored, or to be stored with the first item; then `onStored` is called
 */
export function createAgreement ({ pipeline, keyPrefix, wanted, definition, isStored, onStored, log }) {
  /** batches acknowledged when the definition was last checked */
  let checkedBatches = isStored ? -1 : 0
  /** @type {() => void} */
  let end = () => {}
  const settled = /** @type {Promise<void>} */ (new Promise((resolve) => { end = resolve }))
  if (isStored) end()

  /** @param {Connection} primary */
  const agreeAgain = (primary) => agree(primary, keyPrefix, isStored
    ? { ...wanted, windowMs: definition.windowMs, maxItems: definition.maxItems }
    : definition)

  /** @param {Definition} stored */
  function follow (stored) {
    if (stored.windowMs !== definition.windowMs || stored.maxItems !== definition.maxItems) {
      log.info({ windowMs: stored.windowMs, maxItems: stored.maxItems }, 'retention changed')
      definition = stored
      pipeline.setRetention(stored)
    }
    if (isStored) return
    isStored = true
    definition = stored
    end()
    onStored()
  }

  return {
    /** As last read. */
    get definition () { return definition },
    get isStored () { return isStored },
    /** Resolves when the feed is stored, or after `end`. */
    settled,
    end,
    /** Whether nothing was written since the last check, or waits for a definition. */
    get isIdle () { return isStored ? pipeline.account.batches === checkedBatches : pipeline.isIdle },

    /** @param {Connection} primary @throws FEED_UNKNOWN only when idle: an idle writer does not recreate a dropped feed */
    async check (primary) {
      const { batches } = pipeline.account
      const stored = this.isIdle
        ? expectAgreed(await readDefinition(primary, keyPrefix, wanted.feed), wanted)
        : await agreeAgain(primary)
      checkedBatches = batches
      follow(stored)
    },

    /** At the end: the feed may have been dropped since the last check. @param {Connection} primary */
    async checkLast (primary) {
      if (pipeline.failure || pipeline.account.batches <= Math.max(checkedBatches, 0)) return
      await agreeAgain(primary).catch((caught) => {
        if (caught.code === 'FEED_DEFINITION_DIFFERS') pipeline.fail(caught)
        log.error({ code: caught.code, reason: caught.message },
          'the last items may be stored without a definition, and then cannot be read')
      })
    }
  }
}

/** @typedef {Pick<import('./pipeline.js').PipelineOptions, 'onFlush' | 'onBehind' | 'onRefused'>} Hooks */

const HOOKS = /** @type {const} */ (['onFlush', 'onBehind', 'onRefused'])

/**
 * Hooks of the caller run when the pipeline is in a consistent state, so they may append. A hook that throws or rejects has no effect on
 * the pipeline; the first error is logged.
 * @param {Hooks} options @param {Pick<import('pino').Logger, 'error'>} log @returns {Hooks}
 */
const guardedHooks = (options, log) => Object.fromEntries(HOOKS.flatMap((name) => {
  const hook = options[name]
  return hook === undefined ? [] : [[name, guarded(name, hook, log)]]
}))

/** @param {string} name @param {(...args: any[]) => unknown} hook @param {Pick<import('pino').Logger, 'error'>} log */
function guarded (name, hook, log) {
  let isLogged = false
  /** @param {any} error any thrown value */
  function report (error) {
    if (isLogged) return
    isLogged = true
    const { message, stack } = asError(error)
    log.error({ hook: name, reason: cutText(stack ?? message) },
      `the hook ${name} throws, which has no effect on the feed; fix it: later errors are not logged`)
  }
  return (/** @type {any[]} */ ...args) => {
    try {
      const answer = hook(...args)
      if (answer instanceof Promise) answer.catch(report)
    } catch (error) {
      report(error)
    }
  }
}
