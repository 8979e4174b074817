/**
 * The windows of a pipeline, one for each bucket: a stripe of one partition, with a connection to the primary that has the partition.
 * Records when each batch is sent for the first time, and how late.
 */
import { createWindow } from './window.js'

/** @typedef {import('./open-batches.js').OpenBatch} OpenBatch */

/**
 * @param {Pick<import('./pipeline.js').PipelineOptions, 'ack' | 'send' | 'isAlone' | 'clock' | 'onBehind'> & { buckets: number,
 *   account: import('./account.js').Account, onAcknowledged: (batch: OpenBatch, answer: import('./acks.js').Answer) => void,
 *   onFull: () => void, onRefused: (error: Error) => void }} parts
 */
export function createStripeWindows ({ ack, buckets, send, isAlone, clock, onBehind = () => {}, account, ...on }) {
  /** @type {number[]} of the batches being sent; reported after the send, because the hook may append */
  const behindMs = []

  /** @param {OpenBatch} one @param {boolean} again */
  function onSent (one, again) {
    if (again) {
      account.retried += one.batch.count
      return
    }
    one.sentMs = clock()
    behindMs.push(Math.max(0, one.sentMs - one.flushDueMs))
  }

  return Array.from({ length: buckets }, (_, bucket) => createWindow({
    send (connection, /** @type {OpenBatch[]} */ group) {
      const answers = send(bucket, connection, group.map(({ batch }) => batch))
      for (const ms of behindMs.splice(0)) onBehind(ms)
      return answers
    },
    grouped: ack.grouped,
    isAlone,
    onSent,
    ...on
  }))
}
