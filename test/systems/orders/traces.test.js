/**
 * Spans of orders, with an SDK that was there before.
 *
 * A process of its own: src/systems/orders/traces.js looks for the SDK when it is imported.
 */
import { trace } from '@opentelemetry/api'
import t from 'tap'
import { silentLog } from '../../servers.js'

/** @type {any[]} */
const spans = []
t.beforeEach(() => { spans.length = 0 })
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
const { createSaga } = await import('../../../src/systems/orders/index.js')
const { traced } = await import('../../../src/systems/orders/traces.js')

t.test('a span has its attributes, its error, and its end', async (t) => {
  t.equal(await traced('capture', { sagaId: 'a' }, async () => 7), 7)
  const down = async () => { throw Object.assign(new Error('down'), { code: 'DOWN' }) }
  await t.rejects(traced('void', { sagaId: 'a' }, down), { code: 'DOWN' })
  t.same(spans, [
    { tracer: 'freshet', name: 'capture', attributes: { sagaId: 'a' }, error: null, isEnded: true },
    { tracer: 'freshet', name: 'void', attributes: { sagaId: 'a' }, error: 'DOWN', isEnded: true }
  ])
})

t.test('an order has a span, and its steps in it, where those that are recorded together share one', async (t) => {
  /** @type {Record<string, string>} status after each command of rule step */
  const after = { held: 'held', capture_requested: 'capturing', captured: 'captured', confirmed: 'confirmed' }
  const state = { status: 'placed', correlation: 'c', lines: '[{"sku":"lamp","quantity":1}]', total: '100', placedAt: '1', wasHeld: '' }
  const submit = async (/** @type {any} */ { args: [op] }) => /** @type {any} */ ({ code: 'accepted', details: { status: after[op] } })
  const drive = createSaga({
    submit,
    submitAll: (commands) => Promise.all(commands.map(submit)),
    stateOf: async () => state,
    payments: /** @type {any} */ ({
      authorize: async () => ({ status: 'authorized', id: 'p' }), capture: async () => ({ status: 'captured' })
    }),
    confirm: async () => {},
    wasSold: async () => false,
    deadLetter: async () => {},
    drop: async () => {},
    log: silentLog
  })
  await drive('o:a')
  t.same(spans.map(({ name }) => name), ['order', 'order placed', 'order capturing'])
  for (const span of spans) t.match(span, { attributes: { sagaId: 'a', correlationId: 'c' }, error: null, isEnded: true }, span.name)
})
