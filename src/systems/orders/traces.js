/** Traces of orders by the API of OpenTelemetry, which does nothing until a process is started with an SDK (docs/orders.md). */
import { SpanStatusCode, trace } from '@opentelemetry/api'

const tracer = trace.getTracer('freshet')

/**
 * @template T @param {string} name @param {Record<string, string>} attributes @param {() => Promise<T>} run
 * @returns {Promise<T>}
 */
export const traced = (name, attributes, run) => tracer.startActiveSpan(name, { attributes }, async (span) => {
  try {
    return await run()
  } catch (error) {
    span.recordException(error)
    span.setStatus({ code: SpanStatusCode.ERROR, message: error.code })
    throw error
  } finally {
    span.end()
  }
})
