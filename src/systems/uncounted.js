/**
 * Metrics of the library, which counts in `account` only.
 *
 * @import { AdmissionMetrics } from '../metrics/index.js'
 * @import { ConsumerMetrics } from './frame.js'
 */

/** @type {Readonly<AdmissionMetrics & ConsumerMetrics>} */
export const UNCOUNTED = Object.freeze({
  sent () {},
  waited () {},
  dropped () {},
  answered () {},
  asked () {},
  ruleFailed () {},
  clockBack () {},
  finished () {},
  failed () {},
  deadLettered () {}
})
