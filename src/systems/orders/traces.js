/**
 * Traces of orders by the API of OpenTelemetry, which does nothing until a process is started with an SDK (docs/orders.md). A request that
 * placed an order with a `traceparent` (https://www.w3.org/TR/trace-context/) is the parent of all that follows.
 */
import { context, SpanStatusCode, trace } from '@opentelemetry/api'

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/
const tracer = trace.getTracer('freshet')

/**
 * @template T @param {string} name @param {Record<string, string | number>} attributes @param {() => Promise<T>} run
 * @param {string} [correlationId] whose trace it continues, if it is a traceparent
 * @returns {Promise<T>}
 */
export function traced (name, attributes, run, correlationId = '') {
  const [, traceId, spanId, flags] = TRACEPARENT.exec(correlationId) ?? []
  const active = context.active()
  const parent = traceId === undefined
    ? active
    : trace.setSpanContext(active, { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true })
  return tracer.startActiveSpan(name, { attributes }, parent, async (span) => {
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
}
