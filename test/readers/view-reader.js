/**
 * A reader over a view: a real store in this process, filled by the test, behind the methods that views have. Both clocks are
 * the test's, and what is taken out of the store is counted.
 */
import { Registry } from 'prom-client'
import { createReaderApp } from '../../readers/app.js'
import { createViewStore } from '../../src/view/store/index.js'
import { createFakeQueries, NOW } from './fake-queries.js'

/**
 * @param {import('tap').Test} t
 * @param {Record<string, unknown>} [options] of the reader
 */
export function createViewReader (t, options = {}) {
  const store = createViewStore({ windowMs: 0, maxItems: 0, boundItems: 2e6, boundBytes: 2 ** 30 })
  const { queries, state } = createFakeQueries({ latest: [] })
  const view = { isReady: true, asOf: () => time.now, lagMs: 3, visits: 0, beforeVisit: () => {} }
  const time = { now: NOW, elapsed: 1000, isReal: false }
  let arrival = 0

  /** @param {string} id @param {number} ts @param {string | Buffer} value @param {{ seq?: number, deleted?: boolean }} [rest] */
  function put (id, ts, value, { seq = 0, deleted = false } = {}) {
    const idBytes = Buffer.from(id)
    const bytes = Buffer.concat([idBytes, Buffer.from(value)])
    store.put(bytes, 0, idBytes.length, ts, seq, ++arrival, deleted, idBytes.length, bytes.length, arrival)
  }

  const live = () => ({ asOf: view.asOf(), lagMs: view.lagMs })
  const asked = {
    ...queries,
    revision: () => view.isReady ? { key: `1.${store.revision}`, readMs: view.asOf(), ...live() } : null,
    visit (_feed, question, visit) {
      if (!view.isReady) return null
      view.beforeVisit()
      view.visits++
      return { ...store.latest({ ...question, nowMs: time.now }, visit), ...live() }
    },
    get: async (_feed, ids) => ({ items: ids.map((id) => store.get(id, time.now)), ...live() }),
    count: async () => ({ count: store.count(time.now), exact: true, ...live() })
  }
  const registry = new Registry()
  const app = createReaderApp({
    queries: /** @type {any} */ (asked),
    registry,
    maxStaleMs: 10_000,
    clock: () => time.now,
    elapsed: () => time.isReal ? performance.now() : time.elapsed,
    ...options
  })
  t.teardown(() => app.close())
  return { app, store, put, view, time, state, registry }
}

/** A counter of a registry, by its whole line without the number. @param {Registry} registry @param {string} line */
export async function counted (registry, line) {
  const [name] = line.split('{')
  // tests poll: of all metrics the text would take longer than what they wait for
  const text = await (registry.getSingleMetric(name) ? registry.getSingleMetricAsString(name) : registry.metrics())
  return Number(text.split('\n').find((one) => one.startsWith(line + ' '))?.split(' ').at(-1) ?? NaN)
}
