/** Traces of orders by the API of OpenTelemetry, in a process that was started with an SDK (docs/orders.md). */

/** @typedef {typeof import('@opentelemetry/api')} Api */
/** An SDK has stored itself under this name, by which all copies of the API find it; without one, the API is not even loaded. */
const isTraced = Symbol.for('opentelemetry.js.api.1') in globalThis
const api = isTraced ? await import('@opentelemetry/api') : null
const tracer = api?.trace.getTracer('freshet')

/**
 * @template T @param {string} name @param {Record<string, string>} attributes @param {() => Promise<T>} run
 * @returns {Promise<T>}
 */
export const traced = (name, attributes, run) => !tracer
  ? run()
  : tracer.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await run()
    } catch (error) {
      span.recordException(error)
      span.setStatus({ code: /** @type {Api} */ (api).SpanStatusCode.ERROR, message: error.code })
      throw error
    } finally {
      span.end()
    }
  })
