/**
 * Closes, sends and acknowledges batches.
 *
 *     begin ──▶ open ── close ──▶ in flight ── acknowledged ──▶ reused
 *               └──────────── live ─────────────┘
 *
 * - A batch closes when it is full (count or bytes; pipeline.js checks that), or by the rule of open-batches.js.
 * - Each bucket (a stripe of a partition) is a window over a connection of its own. An id always uses the same bucket, so its
 *   versions are written in order, whatever happens to connections, and a partition that moves to another primary delays no other.
 * - `held` counts bytes from append to acknowledgement; pipeline.js bounds it.
 */
import { createOpenBatches } from './open-batches.js'
import { createStripeWindows } from './window.js'

/**
 * Counts what became of every item offered. Each item ends in exactly one of items (acknowledged), refused, dropped or
 * failed. When nothing is in flight: offered = items + refused + dropped + failed.
 *
 * @typedef {ReturnType<typeof newAccount>} Account
 */

export const newAccount = () => ({
  offered: 0,
  items: 0,
  dropped: 0,
  failed: 0,
  /** items sent again */
  retried: 0,
  /** acknowledged */
  batches: 0,
  /** of them, compared without the script (layouts/ids-append.js) */
  watched: 0,
  /** of them, compared by the script */
  scripts: 0,
  /** of acknowledged values */
  bytes: 0,
  /** batches that a full server did not accept */
  full: 0,
  /** groups of batches that no replica confirmed in time */
  unconfirmed: 0,
  /** connections that ended with the same batch as the two before */
  blocked: 0,
  /** @type {Record<string, number>} by reason */
  refused: {}
})

/** @param {Account} account @param {string} code of an error, or a reason @param {number} [n] */
export function countRefused ({ refused }, code, n = 1) {
  const reason = code.replace(/^ITEM_/, '').toLowerCase()
  refused[reason] = (refused[reason] ?? 0) + n
}

/** @param {Account} account */
export const refusedOf = ({ refused }) => Object.values(refused).reduce((sum, n) => sum + n, 0)

/** Items that the servers decided on: stored, or late. @param {Pick<Account, 'items' | 'refused'>} account */
export const decidedOf = ({ items, refused }) => items + (refused.late ?? 0)

/** @param {Account[]} accounts @returns {Account} their sum */
export function addAccounts (accounts) {
  const total = newAccount()
  for (const { refused, ...numbers } of accounts) {
    for (const [name, n] of Object.entries(numbers)) /** @type {any} */ (total)[name] += n
    for (const [reason, n] of Object.entries(refused)) countRefused(total, reason, n)
  }
  return total
}

/**
 * The difference of two accounts. Items that were in flight at `before` count as offered since then, so the sum above
 * holds for the difference too. All failed items belong to the difference: they were in flight until the end.
 * @param {Account} account @param {Account} before an earlier copy of it @returns {Account}
 */
export function accountSince (account, before) {
  const since = newAccount()
  const { refused, ...numbers } = account
  for (const [name, n] of Object.entries(numbers)) /** @type {any} */ (since)[name] = n - /** @type {any} */ (before)[name]
  for (const [reason, n] of Object.entries(refused)) {
    const more = n - (before.refused[reason] ?? 0)
    if (more > 0) countRefused(since, reason, more)
  }
  since.failed = account.failed
  since.offered += before.offered - before.items - before.dropped - refusedOf(before)
  return since
}

/** of the in-flight bound: `ready` resolves below it, so that back-pressure does not toggle with every batch */
export const RESUME_AT = 0.75

/** @typedef {import('./open-batches.js').OpenBatch} OpenBatch */
/** @typedef {ReturnType<typeof createDelivery>} Delivery */

/**
 * @param {import('./pipeline.js').PipelineOptions & { account: Account,
 *   waiters: import('./pipeline.js').Waiters }} parts
 */
export function createDelivery (parts) {
  const { ack, partitions, inFlightBytes, clock, account, waiters, onBegin = () => {}, onFlush = () => {} } = parts
  /** @type {Set<OpenBatch>} open or in flight, in the order in which they were begun */
  const live = new Set()
  let inFlight = 0
  // read for every item
  const held = { bytes: 0, isFull: false }
  let lastAcknowledgedMs = 0

  const buckets = ack.stripes * partitions
  const windows = createStripeWindows({ ...parts, buckets, onAcknowledged, onFull, onRefused: waiters.fail })
  const batches = createOpenBatches({
    ...parts,
    buckets,
    maxSpareBytes: inFlightBytes,
    isBusy: (bucket) => !windows[bucket].canSend || windows[bucket].busy,
    onClosed (batch) {
      inFlight++
      windows[batch.bucket].push(batch)
    }
  })

  const updateFull = () => { held.isFull = windows.some((window) => window.full) }

  function onFull () {
    account.full++
    updateFull()
  }

  /** @param {OpenBatch} batch @param {import('./acks.js').Answer} answer */
  function onAcknowledged (batch, answer) {
    const { sentMs } = batch
    inFlight--
    live.delete(batch)
    countAcknowledged(account, batch, answer)
    lastAcknowledgedMs = clock()
    held.bytes -= batch.heldBytes
    batches.recycle(batch)
    updateFull()
    closeIfStuck()
    batches.arm()
    waiters.check()
    onFlush((lastAcknowledgedMs - sentMs) / 1000)
  }

  /** Many open batches can reach the bound while none is in flight: close them all, since nothing else will. */
  function closeIfStuck () {
    if (inFlight === 0 && held.bytes >= inFlightBytes * RESUME_AT) batches.closeAll()
  }

  return {
    /** The intake adds to `bytes`. `isFull`: the server accepts no batch now. */
    held,
    /** By bucket; null = none is open. */
    open: batches.open,
    close: batches.close,
    closeAll: batches.closeAll,
    closeIfStuck,

    /** Opens a batch. @param {number} bucket @param {number} dueMs when its first item was due */
    begin (bucket, dueMs) {
      const begun = batches.begin(bucket, dueMs)
      live.add(begun)
      held.bytes += begun.heldBytes
      onBegin()
      return begun
    },

    get isIdle () { return live.size === 0 },
    get lastAcknowledgedMs () { return lastAcknowledgedMs },

    /** Resolves when all batches that are live now are acknowledged. @param {{ deadlineMs?: number }} [within] @returns {Promise<void>} */
    acknowledged ({ deadlineMs } = {}) {
      const last = batches.lastSerial
      const isDone = () => live.size === 0 || /** @type {OpenBatch} */ (live.values().next().value).serial > last
      return waiters.until(isDone, deadlineMs, 'appended items were not acknowledged')
    },

    /** @param {number} bucket @param {import('../store/index.js').Connection} connection */
    attach (bucket, connection) {
      windows[bucket].attach(connection)
      batches.arm()
    },
    /** @param {number} bucket */
    detach: (bucket) => windows[bucket].detach(),
    get lostInRow () { return Math.max(...windows.map((window) => window.lostInRow)) },
    setRetention: batches.setRetention,

    /** Stops sending and counts all live items as failed. */
    end () {
      batches.stop()
      for (const window of windows) window.close()
      for (const { batch } of live) account.failed += batch.count
      live.clear()
      waiters.close()
    }
  }
}

/** @param {Account} account @param {OpenBatch} batch @param {import('./acks.js').Answer} answer */
function countAcknowledged (account, { batch, valueBytes }, { late, lateBytes = 0, form }) {
  account.batches++
  if (form === 'watched') account.watched++
  else if (form === 'script') account.scripts++
  account.items += batch.count - late
  account.bytes += valueBytes - lateBytes
  if (late) countRefused(account, 'late', late)
}
