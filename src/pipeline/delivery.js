/**
 * Bringing batches home.
 *
 *     begin ──▶ open ── close ──▶ flying ── acknowledged ──▶ used again
 *               └──────────── live ────────────┘
 *
 * - A batch is closed when it is full (count or bytes, by whoever fills it), or by the rule of open-batches.js.
 * - A lane is a window over a connection of its own (acks.js says how many). An id has its lane, so its versions are
 *   written in order whatever becomes of connections.
 * - `held` is counted from append to acknowledgement; what bounds it is not decided here (intake.js).
 */
import { countRefused } from './account.js'
import { createOpenBatches } from './open-batches.js'
import { createWindow } from './window.js'

/** above the bound `ready` waits until a quarter is free, so that it does not open and shut per batch */
export const RESUME_AT = 0.75

/** @typedef {import('../layouts/index.js').Batch} Batch */
/** @typedef {import('./open-batches.js').OpenBatch} OpenBatch */
/** @typedef {ReturnType<typeof createDelivery>} Delivery */

/**
 * @param {import('./pipeline.js').PipelineOptions & { account: import('./account.js').Account,
 *   waiting: ReturnType<typeof import('./waiting.js').createWaiting> }} parts
 */
export function createDelivery ({
  send, ack, partitions, createBatch, retention, flushAt, inFlightBytes, clock, account, waiting,
  onFlush = () => {}, onBehind = () => {}
}) {
  /** @type {Map<Batch, OpenBatch>} on their way */
  const flying = new Map()
  /** @type {Set<OpenBatch>} open or on their way, in the order in which they were begun */
  const live = new Set()
  // looked at for every item, so it is kept
  const held = { bytes: 0, isFull: false }
  let lastAcknowledgedMs = 0

  /** @type {number[]} of those being sent; told once they are, for who is told may append */
  const behindMs = []

  const windows = Array.from({ length: ack.lanes }, (_, lane) => createWindow({
    send (connection, batches) {
      const answers = send(lane, connection, batches)
      for (const ms of behindMs.splice(0)) onBehind(ms)
      return answers
    },
    grouped: ack.grouped,
    onSent,
    onAcknowledged,
    onFull () {
      account.full++
      lookAtFull()
    },
    onRefused: waiting.fail
  }))
  const laneOf = (/** @type {number} */ slot) => windows[Math.floor(slot / partitions)]
  const batches = createOpenBatches({
    slots: ack.lanes * partitions,
    partitions,
    createBatch,
    retention,
    flushAt,
    mostSpareBytes: inFlightBytes,
    clock,
    isBusy: (slot) => !laneOf(slot).canSend || laneOf(slot).busy,
    onClosed
  })

  const lookAtFull = () => { held.isFull = windows.some((window) => window.full) }

  /** @param {Batch} batch @param {boolean} again */
  function onSent (batch, again) {
    const flown = /** @type {OpenBatch} */ (flying.get(batch))
    const nowMs = clock()
    if (again) account.retried += batch.count
    else {
      flown.sentMs = nowMs
      behindMs.push(Math.max(0, nowMs - flown.flushDueMs))
    }
  }

  /** @param {Batch} batch @param {{ late: number }} answer */
  function onAcknowledged (batch, { late }) {
    const flown = /** @type {OpenBatch} */ (flying.get(batch))
    flying.delete(batch)
    live.delete(flown)
    account.batches++
    account.items += batch.count - late
    account.bytes += flown.valueBytes
    if (late) countRefused(account, 'late', late)
    lastAcknowledgedMs = clock()
    const { sentMs } = flown
    held.bytes -= flown.heldBytes
    batches.recycle(flown)
    lookAtFull()
    closeIfStuck()
    batches.arm()
    waiting.look()
    onFlush((lastAcknowledgedMs - sentMs) / 1000)
  }

  /** @param {OpenBatch} one */
  function onClosed (one) {
    flying.set(one.batch, one)
    laneOf(one.slot).push(one.batch)
  }

  /** Open batches alone can fill the bound, when there are many: then none of them need wait for more. */
  function closeIfStuck () {
    if (flying.size === 0 && held.bytes >= inFlightBytes * RESUME_AT) batches.closeAll()
  }

  return {
    /** Changed by whoever adds to an open batch, too. `isFull`: the server takes no batch now. */
    held,
    /** By slot; null = none is open. */
    open: batches.open,
    close: batches.close,
    closeAll: batches.closeAll,
    closeIfStuck,

    /** Opens a batch. @param {number} slot @param {number} dueMs when its first item was due */
    begin (slot, dueMs) {
      const begun = batches.begin(slot, dueMs)
      live.add(begun)
      held.bytes += begun.heldBytes
      return begun
    },

    get isIdle () { return live.size === 0 },
    get lastAcknowledgedMs () { return lastAcknowledgedMs },

    /** Resolves when all that is live now is acknowledged. @param {{ deadlineMs?: number }} [within] @returns {Promise<void>} */
    acknowledged ({ deadlineMs } = {}) {
      const last = batches.lastSerial
      const isDone = () => live.size === 0 || /** @type {OpenBatch} */ (live.values().next().value).serial > last
      return waiting.until(isDone, deadlineMs, 'what was appended was not acknowledged')
    },

    /** @param {number} lane @param {import('../store/connection.js').Connection} connection */
    attach (lane, connection) {
      windows[lane].attach(connection)
      batches.arm()
    },
    /** @param {number} lane */
    detach: (lane) => windows[lane].detach(),
    setRetention: batches.setRetention,

    /** Nothing is sent any more; what is live has failed. */
    end () {
      batches.stop()
      for (const window of windows) window.close()
      for (const { batch } of live) account.failed += batch.count
      flying.clear()
      live.clear()
      waiting.close()
    }
  }
}
