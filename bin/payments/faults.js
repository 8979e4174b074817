/**
 * Faults of the local payment provider, switched over HTTP. Fields that a request does not name are off.
 *
 * @typedef {{ latencyMs: number | null, declineRate: number, captureDeclineRate: number, errorRate: number, silentRate: number,
 *   isDown: boolean, callbacks: number, callbackAfterMs: number }} Faults `captureDeclineRate`: the issuer refuses to capture what it has
 *   authorized; `silentRate`: effects without a reply; `callbacks` of each change
 */

/** @type {Readonly<Faults>} */
export const NO_FAULTS = Object.freeze({
  latencyMs: null, declineRate: 0, captureDeclineRate: 0, errorRate: 0, silentRate: 0, isDown: false, callbacks: 1, callbackAfterMs: 0
})

const RATE = { type: 'number', minimum: 0, maximum: 1 }

/** As JSON schema. */
export const FAULTS = Object.freeze({
  type: 'object',
  additionalProperties: false,
  properties: {
    latencyMs: { type: ['integer', 'null'], minimum: 0, maximum: 60_000 },
    declineRate: RATE,
    captureDeclineRate: RATE,
    errorRate: RATE,
    silentRate: RATE,
    isDown: { type: 'boolean' },
    callbacks: { type: 'integer', minimum: 0, maximum: 10 },
    callbackAfterMs: { type: 'integer', minimum: 0, maximum: 3_600_000 }
  }
})
