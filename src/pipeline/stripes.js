/**
 * The connections that carry batches: one link per bucket (a stripe of a partition), to the primary that has the partition. It is opened
 * again when a session ends, and elsewhere when the partition has moved.
 */
import { FreshetError } from '../errors.js'
import { capabilities, createLink, expectPrimary, readScript, slotMapOf } from '../store/index.js'

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
    const support = map.isCluster ? { msetex: false } : await capabilities(connection)
    if (msetex && !support.msetex) throw withoutMsetex(connection.address, support)
    if (support.msetex === null && msetex === null) log.warn('this user may not use MSETEX: each item is sent as one SET')
    msetex ??= support.msetex ?? false
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

/** The encoded batches use MSETEX already. @param {string} address @param {{ msetex: boolean | null }} support */
const withoutMsetex = (address, { msetex }) => new FreshetError('SERVER_REFUSED', msetex === null
  ? `this user may not use MSETEX at ${address} any more; allow it again (+msetex), or restart the writer, which then does without it`
  : `the server at ${address} has no MSETEX, but the previous one had it; restart the writer`)

/**
 * Commands of an ended session may still be in transit. They would arrive after the same batches were sent again, and
 * overwrite newer items. So each session has the server close the previous session on that server, by client id. Client
 * ids are per server, hence one id for each:
 *
 *     server   A    B    A                 a switchover there and back
 *     session  1    2    3 closes 1
 *
 * The first session on a server sends CLIENT KILL too, so that a missing permission shows at once.
 */

/** an id that no client has */
const NO_CLIENT = Number.MAX_SAFE_INTEGER
/** more than a deployment has; a restarted server counts as a new one */
const MAX_SERVERS = 16

/** For one stripe. */
export function createFence () {
  /** @type {Map<string, number>} last client id by run id, least recently used first */
  const clients = new Map()

  /**
   * Resolves when commands of earlier sessions can no longer arrive.
   * @param {import('../store/index.js').Connection} connection
   * @param {{ runId?: string }} server without a run id nothing is closed
   */
  return async (connection, { runId }) => {
    const before = runId === undefined ? undefined : clients.get(runId)
    await connection.send('CLIENT', 'KILL', 'ID', before ?? NO_CLIENT)
    const clientId = await connection.send('CLIENT', 'ID')
    if (runId === undefined) return
    clients.delete(runId)
    clients.set(runId, clientId)
    if (clients.size > MAX_SERVERS) clients.delete(/** @type {string} */ (clients.keys().next().value))
  }
}

/**
 * Estimates the time of a server, never ahead of it: TIME of the server plus the time since its reply arrived. The estimate
 * lags by the transit time of the reply.
 */

/** a larger step back means that the clock of the server was set */
const STEP_MS = 1000
/** maximum drift of two machines between two syncs */
const DRIFT_MS = 1

/** @param {() => number} [elapsed] ms, monotonic */
export function createServerClock (elapsed = () => performance.now()) {
  let offset = -Infinity

  return {
    /**
     * @param {import('../store/index.js').Connection} connection
     * @param {{ isAnother?: boolean, isStill?: () => boolean }} [server] `isAnother`: the server may have changed;
     *   `isStill`: checked after the reply, false = the reply is of another server and does not count
     */
    async sync (connection, { isAnother = false, isStill = () => true } = {}) {
      const [seconds, micros] = await connection.send('TIME')
      if (!isStill()) return
      const seen = Number(seconds) * 1000 + Number(micros) / 1000 - elapsed()
      // a slow reply gives a worse estimate than an earlier fast one
      offset = isAnother || seen < offset - STEP_MS ? seen : Math.max(seen, offset - DRIFT_MS)
    },

    /** @returns {number} ms since 1970; -Infinity before the first sync */
    now: () => Math.floor(elapsed() + offset)
  }
}
