/**
 * A feed opened for writing: its definition agreed, connections for batches (one a lane), another for everything else
 * (definition, trimming, figures), so that housekeeping never waits behind 16 MiB of items.
 */
import { randomUUID } from 'node:crypto'
import { agree } from '../feeds/definitions.js'
import { expiryMs } from '../feeds/extend.js'
import { partitionKey } from '../feeds/keys.js'
import { ERRORS, FreshetError, publicReason } from '../errors.js'
import { layoutOf } from '../layouts/index.js'
import { createOrigin } from '../layouts/log-origin.js'
import { createLink } from '../store/link.js'
import { capabilities, nodeFigures } from '../store/nodes.js'
import { readScript } from '../store/scripts.js'
import { ackOf } from './acks.js'
import { guardedHooks } from './hooks.js'
import { createFence } from './fence.js'
import { keepHouse } from './housekeeping.js'
import { createPipeline } from './pipeline.js'
import { createServerClock } from './server-clock.js'

/** of the deadline: an answer of WAIT must come before the server counts as silent */
const WAIT_SHARE = 0.5
const SAY_AGAIN_MS = 10_000

/** @typedef {Awaited<ReturnType<typeof openFeedWriter>>} FeedWriter */
/** @typedef {import('../layouts/index.js').Retention} Retention for the published types */

/**
 * @param {{ redisUrl: string, keyPrefix: string, feed: string, layout: string, partitions: number, windowMs: number,
 *   maxItems: number, maxFutureMs: number, late: 'overwrite' | 'drop', compress?: 'none' | 'brotli', name: string, deadlineMs: number,
 *   batchItems: number, batchBytes: number, batchMs: number, inFlightBytes: number, whenFull: 'block' | 'refuse' | 'drop',
 *   ack: string | import('./acks.js').Ack, clock: () => number, log: import('pino').Logger }
 *   & import('./hooks.js').Hooks & { asked?: Partial<Retention> }} options `asked`: of the retention, what the caller did not leave to the defaults
 * @throws {FreshetError} SERVER_UNREACHABLE, SERVER_REFUSED, FEED_DEFINITION_DIFFERS, FEED_LAYOUT_UNKNOWN
 */
export async function openFeedWriter (options) {
  const { redisUrl, keyPrefix, feed, partitions, maxFutureMs, late, name, deadlineMs, log } = options
  const layout = layoutOf(options.layout)
  const wanted = { feed, layout: layout.name, partitions, windowMs: options.windowMs, maxItems: options.maxItems, format: layout.format }
  const key = (/** @type {number} */ partition) => partitionKey(keyPrefix, feed, partition)

  const ack = ackOf(options.ack)
  /** @type {import('./pipeline.js').Pipeline | null} */
  let pipeline = null
  /** @type {boolean | null} */
  let msetex = null
  // process ids are the same in every container; who is opened again is another one
  const writerName = `${name}-${randomUUID()}`
  const serverClock = createServerClock()
  /** run ids of servers: where batches go, and where the control connection leads, which may be still or already another one */
  let writtenTo = ''
  let controlled = ''
  /** @type {import('../layouts/log-origin.js').Origin | undefined} */
  let origin

  /** @param {number} lane */
  const createLane = (lane) => {
    const fence = createFence()
    return createLink(redisUrl, {
      name: `${name}:items`,
      deadlineMs,
      async prepare (connection) {
        const figures = await expectPrimary(connection)
        await fence(connection, figures)
        const found = await capabilities(connection)
        if (msetex && !found.msetex) throw withoutMsetex(connection.address, found)
        if (found.msetex === null && msetex === null) log.warn('this user may not use MSETEX, so each item is one SET')
        msetex ??= found.msetex ?? false
        if (late === 'drop') await connection.send('SCRIPT', 'LOAD', readScript('append-ids').body)
        if (layout.log) {
          writtenTo = figures.runId
          // other lanes go on meanwhile, and need a clock
          await serverClock.look(connection, { isAnother: true })
          origin?.forget()
        }
      },
      onOpen: (connection) => pipeline?.attach(lane, connection),
      onClosed (reason) {
        log.warn({ reason }, 'connection to the primary lost, opening the next')
        pipeline?.detach(lane)
      },
      onError (error) { if (pipeline) log.warn({ code: error.code, reason: error.message }, 'the primary cannot be used, trying on') }
    })
  }
  const lanes = Array.from({ length: ack.lanes }, (_, lane) => createLane(lane))
  const control = createLink(redisUrl, {
    name: `${name}:control`,
    deadlineMs,
    async prepare (connection) { controlled = (await expectPrimary(connection)).runId }
  })
  const closeLinks = () => Promise.all([control, ...lanes].map((link) => link.close()))

  /** @type {import('../feeds/definitions.js').Definition} as it was found */
  let definition
  try {
    const [primary] = await Promise.all([control.opened, ...lanes.map((link) => link.opened)])
    definition = await agree(primary, keyPrefix, wanted)
    warnOfRetention(definition, options.asked, log)
    if (layout.log) {
      const epoch = await nextEpoch(primary, key(0)('epoch'), { ttlMs: expiryMs(definition, maxFutureMs), nowMs: serverClock.now() })
      // a failover may lose the epoch, and would give it away again: who writes differs all the same
      origin = createOrigin({ name: writerName, epoch, serverMs: serverClock.now })
    }
  } catch (error) {
    await closeLinks()
    throw error
  }
  const confirmation = createConfirmation(log)
  const contexts = lanes.map((_, lane) => ({
    append: layout.append,
    marker: { key: key(0)(`marker:${writerName}:${lane}`), value: 0 },
    waitMs: Math.max(1, Math.floor(deadlineMs * WAIT_SHARE)),
    onUnconfirmed: () => confirmation.missing(lane, /** @type {import('./pipeline.js').Pipeline} */ (pipeline).account)
  }))
  pipeline = createPipeline({
    ack,
    send: async (lane, connection, batches) => {
      const answers = await ack.send(connection, batches, contexts[lane])
      confirmation.given(lane)
      return answers
    },
    partitions,
    createBatch: (partition, retention) => layout.createBatch({
      key: key(partition),
      late,
      ttlMs: expiryMs(retention, maxFutureMs),
      clock: options.clock,
      maxItems: retention.maxItems,
      origin,
      compress: options.compress,
      dialect: { msetex: msetex ?? false, sha: (script) => readScript(script).sha }
    }),
    retention: definition,
    maxFutureMs,
    flushAt: { items: options.batchItems, bytes: options.batchBytes, ms: options.batchMs },
    inFlightBytes: options.inFlightBytes,
    whenFull: options.whenFull,
    clock: options.clock,
    ...guardedHooks(options, log)
  })
  lanes.forEach((link, lane) => { if (link.connection) pipeline?.attach(lane, link.connection) })

  /** @param {import('../store/connection.js').Connection} connection */
  const look = (connection) => serverClock.look(connection, { isStill: () => controlled === writtenTo })
  const house = keepHouse({ control, pipeline, layout, key, keyPrefix, wanted, definition, name: writerName, log, look: layout.log ? look : null })

  return {
    pipeline,
    get definition () { return house.definition },
    get trimmed () { return house.trimmed },
    get connected () { return lanes.every((link) => link.connection !== null) },
    /** Connections opened for batches. */
    get epochs () { return lanes.reduce((sum, link) => sum + link.epochs, 0) },

    /** Whether items are being acknowledged, or would be: an idle writer hears of its primary by the control connection. @returns {{ ready: boolean, reasons: string[] }} */
    status () {
      const without = [...lanes, control].find((link) => link.connection === null)
      const error = pipeline.failure ?? without?.lastError ?? house.error
      const reasons = error ? [publicReason(error)] : []
      if (!error && without) reasons.push('SERVER_LOST: the connection to the primary is being opened again')
      if (pipeline.isFull) reasons.push(`SERVER_FULL: ${ERRORS.SERVER_FULL.meaning}`)
      if (confirmation.isMissing) reasons.push('REPLICAS_GONE: no replica confirms what was written')
      return { ready: reasons.length === 0, reasons }
    },

    /** @param {{ drainMs: number }} drain */
    async close ({ drainMs }) {
      house.stop()
      await pipeline.close({ drainMs })
      await house.close()
      await closeLinks()
    }
  }
}

/**
 * The first writer decides, so what is asked for may be another retention than the one that holds.
 * @param {import('../feeds/definitions.js').Definition} definition @param {Partial<Retention> | undefined} asked
 * @param {import('pino').Logger} log
 */
function warnOfRetention (definition, asked, log) {
  for (const [name, flag] of /** @type {const} */ ([['windowMs', '--window-ms'], ['maxItems', '--max-items']])) {
    const wanted = asked?.[name]
    if (wanted === undefined || wanted === definition[name]) continue
    log.warn({ feed: definition.feed, [name]: definition[name] }, `the feed is stored with ${name} ${definition[name]}, which holds, not ${wanted}; to change it: npx freshet feed set ${definition.feed} ${flag} ${wanted}, with the same --redis-url`)
  }
}

/** Says when no replica confirms on some lane, and when one does again on all. @param {import('pino').Logger} log */
function createConfirmation (log) {
  /** @type {Set<number>} */
  const missing = new Set()
  let saidMs = -Infinity
  let isSaid = false
  return {
    get isMissing () { return missing.size > 0 },
    /** @param {number} lane @param {import('./account.js').Account} account */
    missing (lane, account) {
      account.unconfirmed++
      missing.add(lane)
      if (performance.now() - saidMs < SAY_AGAIN_MS) return
      saidMs = performance.now()
      isSaid = true
      log.warn('no replica confirms what was written: nothing of it is acknowledged until one does')
    },
    /** @param {number} lane */
    given (lane) {
      if (!missing.delete(lane) || missing.size > 0 || !isSaid) return
      isSaid = false
      log.info('a replica confirms again')
    }
  }
}

/**
 * Tells what a writer of some name writes from what the one before it wrote. It counts from the time of the server, so
 * that it rises also after the key expired.
 * @param {import('../store/connection.js').Connection} primary @param {string} name of the key
 * @param {{ ttlMs: number, nowMs: number }} options `ttlMs`: of what is stored, 0 = for ever
 * @returns {Promise<number>}
 */
async function nextEpoch (primary, name, { ttlMs, nowMs }) {
  await primary.send('SET', name, Math.floor(nowMs / 1000), 'NX')
  const epoch = await primary.send('INCRBY', name, 1)
  if (ttlMs > 0) await primary.send('PEXPIRE', name, ttlMs)
  return epoch
}

/** Batches are spelt with MSETEX already. @param {string} address @param {{ msetex: boolean | null }} found */
const withoutMsetex = (address, { msetex }) => new FreshetError('SERVER_REFUSED', msetex === null
  ? `this user may not use MSETEX at ${address} any more; allow it again (+msetex), or restart the writer, which does without`
  : `the server at ${address} has no MSETEX, the one before had it; restart the writer`)

/** @param {import('../store/connection.js').Connection} connection */
export async function expectPrimary (connection) {
  const figures = await nodeFigures(connection)
  if (figures.loading) throw new FreshetError('SERVER_LOST', `the server at ${connection.address} is loading its data`)
  if (figures.role !== 'primary') throw new FreshetError('SERVER_REFUSED', `the server at ${connection.address} is a replica; give the address of its primary`, { publicWhy: 'the address leads to a replica, not to a primary' })
  return figures
}
