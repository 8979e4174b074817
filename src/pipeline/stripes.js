/**
 * The connections that carry batches: one link per bucket (a stripe of a partition), to the primary that has the partition. It is opened
 * again when a session ends, and elsewhere when the partition has moved.
 */
import { FreshetError } from '../errors.js'
import { capabilities, createLink, expectPrimary, readScript, slotMapOf } from '../store/index.js'
import { createFence } from './fence.js'
import { createServerClock } from './server-clock.js'

/** a batch that ended so many connections in a row is named */
const BLOCKED_AFTER = 3

/** @typedef {import('../store/index.js').Connection} Connection */
/** @typedef {ReturnType<typeof createStripes>} Stripes */
/** @typedef {{ pipeline: import('./pipeline.js').Pipeline, origin: import('../layouts/index.js').Origin | undefined }} Started */

/**
 * @param {{ redisUrl: string, name: string, deadlineMs: number, keys: string[], layout: import('../layouts/index.js').Layout,
 *   late: 'newest' | 'overwrite', log: import('pino').Logger }} parts `name`: prefix of client names; `keys`: one of the partition, by
 *   bucket
 */
export function createStripes ({ redisUrl, name, deadlineMs, keys, layout, late, log }) {
  const map = slotMapOf(redisUrl, log)
  /** @type {Started | null} */
  let started = null
  /** @type {boolean | null} null = not known yet */
  let msetex = null
  let isOpen = false
  let lastReason = ''

  const isBlocked = () => (started?.pipeline.lostInRow ?? 0) >= BLOCKED_AFTER
  const blocked = () => `the same batch ended ${started?.pipeline.lostInRow} connections in a row (${lastReason}): it may exceed a ` +
    'limit of the server, such as proto-max-bulk-len or client-query-buffer-limit; raise it, ' +
    'or lower batchBytes and batchItems (--batch-bytes, --batch-items)'

  /** @param {Connection} connection */
  async function probe (connection) {
    // while a slot moves atomically, Valkey 9.1.2 does not send what MSETEX writes to the new owner
    const found = map.isCluster ? { msetex: false } : await capabilities(connection)
    if (msetex && !found.msetex) throw withoutMsetex(connection.address, found)
    if (found.msetex === null && msetex === null) log.warn('this user may not use MSETEX: each item is sent as one SET')
    msetex ??= found.msetex ?? false
    if (layout.describe().late !== 'by feed' || late !== 'newest') return
    await connection.sendAll(['append-newest', 'mend-scores'].map((script) => ['SCRIPT', 'LOAD', readScript(script).body]))
  }

  /** @param {string} key @param {number} bucket */
  function createStripe (key, bucket) {
    const fence = createFence()
    let isLost = false
    return createLink({ map, url: () => map.urlOf(key) }, {
      name: `${name}:items`,
      deadlineMs,
      async prepare (connection) {
        const figures = await expectPrimary(connection)
        await fence(connection, figures)
        await probe(connection)
        await clocks[bucket].sync(connection, { isAnother: true })
        started?.origin?.forget()
      },
      onOpen (connection) {
        if (isLost) log.warn({ node: connection.address }, 'connected to the primary again')
        isLost = false
        started?.pipeline.attach(bucket, connection)
      },
      onClosed (reason) {
        isLost = true
        log.warn({ reason }, 'connection to the primary lost, reconnecting')
        lastReason = reason
        started?.pipeline.detach(bucket)
        if (!isBlocked()) return
        /** @type {Started} */ (started).pipeline.account.blocked++
        log.warn(blocked())
      },
      onError (error) { if (isOpen) log.warn({ code: error.code, reason: error.message }, 'the primary cannot be used, retrying') }
    })
  }
  const clocks = keys.map(() => createServerClock())
  const links = keys.map(createStripe)
  const opened = Promise.all(links.map((link) => link.opened)).then(() => { isOpen = true })

  return {
    opened,
    /** Whether batches may use MSETEX. */
    get msetex () { return msetex ?? false },
    /** Never ahead of the clock of any server, ms since 1970; -Infinity = one is not known yet. */
    serverMs: () => Math.min(...clocks.map((clock) => clock.now())),
    /** Reads the clocks of the servers again. */
    syncClocks: () => Promise.all(links.map(({ connection }, bucket) => connection && clocks[bucket].sync(connection, {
      isStill: () => links[bucket].connection === connection
    }))),
    get isConnected () { return links.every((link) => link.connection !== null) },
    /** A link without a connection, if there is one. */
    get lost () { return links.find((link) => link.connection === null) },
    /** Why the oldest batch is not acknowledged although the primary answers; null = it is not known to be blocked. */
    get blocked () { return isBlocked() ? blocked() : null },
    /** Connections opened so far. */
    get sessions () { return links.reduce((sum, link) => sum + link.sessions, 0) },

    /** Connects a pipeline to the open sessions, and to later ones. @param {Started} parts */
    start (parts) {
      started = parts
      links.forEach((link, bucket) => { if (link.connection) parts.pipeline.attach(bucket, link.connection) })
    },
    close: () => Promise.all(links.map((link) => link.close()))
  }
}

/** The encoded batches use MSETEX already. @param {string} address @param {{ msetex: boolean | null }} found */
const withoutMsetex = (address, { msetex }) => new FreshetError('SERVER_REFUSED', msetex === null
  ? `this user may not use MSETEX at ${address} any more; allow it again (+msetex), or restart the writer, which then does without it`
  : `the server at ${address} has no MSETEX, but the previous one had it; restart the writer`)
