/** Spans of orders, with an SDK that was there before. */
import { trace } from '@opentelemetry/api'
import t from 'tap'

t.test('a span of each step: with its attributes, its error, and its end', async (t) => {
  /** @type {any[]} */
  const spans = []
  trace.setGlobalTracerProvider(/** @type {any} */ ({
    getTracer: (/** @type {string} */ tracer) => ({
      startActiveSpan (/** @type {string} */ name, /** @type {any} */ { attributes }, /** @type {(span: any) => unknown} */ run) {
        const span = { tracer, name, attributes, error: null, isEnded: false }
        spans.push(span)
        return run({
          recordException (/** @type {any} */ { code }) { span.error = code },
          setStatus () {},
          end () { span.isEnded = true }
        })
      }
    })
  }))
  const { traced } = await import('../../../src/systems/orders/traces.js')
  t.equal(await traced('capture', { sagaId: 'a' }, async () => 7), 7)
  const down = async () => { throw Object.assign(new Error('down'), { code: 'DOWN' }) }
  await t.rejects(traced('void', { sagaId: 'a' }, down), { code: 'DOWN' })
  t.same(spans, [
    { tracer: 'freshet', name: 'capture', attributes: { sagaId: 'a' }, error: null, isEnded: true },
    { tracer: 'freshet', name: 'void', attributes: { sagaId: 'a' }, error: 'DOWN', isEnded: true }
  ])
})
