import t from 'tap'
import { createWriterMetrics } from '../../src/metrics/index.js'
import { newAccount } from '../../src/pipeline/delivery.js'
import { valueOf } from './registries.js'

/**
 * What of a feed writer is read.
 * @param {{}} [account] @param {{ heldBytes?: number, reasons?: string[], trimmed?: number }} [rest] @returns {any}
 */
const createWriter = (account = {}, { heldBytes = 0, reasons = [], ...rest } = {}) => ({
  pipeline: { account: { ...newAccount(), ...account }, heldBytes, inFlightBytes: 1000 },
  trimmed: 0,
  sessions: 1,
  connected: reasons.length === 0,
  status: () => ({ ready: reasons.length === 0, reasons }),
  ...rest
})

const createMetrics = () => createWriterMetrics({ figures: async () => [] })

t.test('counters follow the account of the feed', async (t) => {
  const { registry, follow } = createMetrics()
  const writer = createWriter()
  follow('positions', writer)
  t.equal(valueOf(await registry.metrics(), 'freshet_items_total', { feed: 'positions' }), 0)
  Object.assign(writer.pipeline.account,
    { items: 7, batches: 9, watched: 4, scripts: 3, bytes: 70, dropped: 1, failed: 3, retried: 4, full: 5, unconfirmed: 6, blocked: 8 })
  Object.assign(writer, { trimmed: 8, sessions: 9 })
  writer.pipeline.heldBytes = 250
  const text = await registry.metrics()
  const values = {
    freshet_items_total: 7,
    freshet_value_bytes_total: 70,
    freshet_dropped_total: 1,
    freshet_failed_total: 3,
    freshet_retried_total: 4,
    freshet_server_full_total: 5,
    freshet_unconfirmed_waits_total: 6,
    freshet_blocked_connections_total: 8,
    freshet_trimmed_total: 8,
    freshet_connections_total: 9,
    freshet_inflight_bytes: 250,
    freshet_inflight_bound_bytes: 1000,
    freshet_connected: 1
  }
  for (const [name, value] of Object.entries(values)) t.equal(valueOf(text, name, { feed: 'positions' }), value, name)
  for (const [form, value] of Object.entries({ watched: 4, script: 3, plain: 2 })) {
    t.equal(valueOf(text, 'freshet_batches_total', { feed: 'positions', form }), value, form)
  }
})

t.test('refusals are by reason, and each reason is there at zero before the first', async (t) => {
  const { registry, follow } = createMetrics()
  const writer = createWriter()
  follow('latest', writer)
  const before = await registry.metrics()
  for (const reason of ['id_invalid', 'ts_invalid', 'value_invalid', 'value_too_large', 'too_old', 'from_future', 'full', 'late']) {
    t.equal(valueOf(before, 'freshet_refused_total', { feed: 'latest', reason }), 0, reason)
  }
  writer.pipeline.account.refused = { too_old: 2, input_invalid: 3 }
  const after = await registry.metrics()
  t.equal(valueOf(after, 'freshet_refused_total', { feed: 'latest', reason: 'too_old' }), 2)
  t.equal(valueOf(after, 'freshet_refused_total', { feed: 'latest', reason: 'input_invalid' }), 3)
  t.equal(valueOf(after, 'freshet_refused_total'), 5)
})

t.test('counts of a feed that was closed stay, and go on when it is opened again', async (t) => {
  const { registry, follow, unfollow } = createMetrics()
  const items = async () => valueOf(await registry.metrics(), 'freshet_items_total', { feed: 'latest' })
  follow('latest', createWriter({ items: 10, refused: { full: 1 } }, { trimmed: 2 }))
  t.equal(await items(), 10)
  unfollow('latest')
  unfollow('latest')
  t.equal(await items(), 10)
  const closed = await registry.metrics()
  t.equal(valueOf(closed, 'freshet_inflight_bytes'), undefined, 'what is in flight is of open feeds')
  t.equal(valueOf(closed, 'freshet_open_feeds'), 0)
  follow('latest', createWriter({ items: 5 }, { trimmed: 3 }))
  const again = await registry.metrics()
  t.equal(valueOf(again, 'freshet_items_total', { feed: 'latest' }), 15)
  t.equal(valueOf(again, 'freshet_trimmed_total', { feed: 'latest' }), 5)
  t.equal(valueOf(again, 'freshet_refused_total', { feed: 'latest', reason: 'full' }), 1)
  t.equal(valueOf(again, 'freshet_open_feeds'), 1)
})

t.test('a writer in place of another takes its count over', async (t) => {
  const { registry, follow } = createMetrics()
  follow('latest', createWriter({ items: 10 }))
  follow('latest', createWriter({ items: 1 }))
  t.equal(valueOf(await registry.metrics(), 'freshet_items_total', { feed: 'latest' }), 11)
})

t.test('beyond 100 feeds the rest counts together as other, and nothing falls as they come and go', async (t) => {
  const { registry, follow, unfollow, flush, behind } = createMetrics()
  const feeds = Array.from({ length: 250 }, (_, i) => `feed-${i}`)
  for (const feed of feeds) follow(feed, createWriter({ items: 2 }, { heldBytes: 10 }))
  for (const feed of feeds) {
    flush(feed, 0.002)
    behind(feed, 2)
  }
  const labelsOf = (text) => new Set([...text.matchAll(/freshet_items_total\{feed="([^"]+)"\}/g)].map(([, feed]) => feed))
  const text = await registry.metrics()
  t.same(labelsOf(text), new Set([...feeds.slice(0, 100), 'other']))
  t.equal(valueOf(text, 'freshet_items_total', { feed: 'other' }), 300)
  t.equal(valueOf(text, 'freshet_items_total'), 500)
  t.equal(valueOf(text, 'freshet_inflight_bytes', { feed: 'other' }), 1500)
  t.equal(valueOf(text, 'freshet_inflight_bound_bytes', { feed: 'other' }), 1000)
  t.equal(valueOf(text, 'freshet_flush_seconds_count', { feed: 'other' }), 150)
  t.equal(valueOf(text, 'freshet_behind_seconds_count'), 250)
  t.equal(valueOf(text, 'freshet_open_feeds'), 250)

  for (const feed of feeds) unfollow(feed)
  const closed = await registry.metrics()
  t.equal(valueOf(closed, 'freshet_items_total', { feed: 'other' }), 300)
  follow('feed-0', createWriter({ items: 1 }))
  follow('feed-200', createWriter({ items: 1 }))
  follow('new', createWriter({ items: 1 }))
  const reopened = await registry.metrics()
  t.equal(valueOf(reopened, 'freshet_items_total', { feed: 'feed-0' }), 3, 'a feed keeps its label')
  t.equal(valueOf(reopened, 'freshet_items_total', { feed: 'other' }), 302)
  t.same(labelsOf(reopened), labelsOf(text))
})

t.test('a feed of the name other counts with the rest and takes no place', async (t) => {
  const { registry, follow } = createMetrics()
  follow('other', createWriter({ items: 1 }))
  for (let i = 0; i < 101; i++) follow(`feed-${i}`, createWriter({ items: 1 }))
  const text = await registry.metrics()
  t.equal(valueOf(text, 'freshet_items_total', { feed: 'other' }), 2)
  t.equal(valueOf(text, 'freshet_items_total', { feed: 'feed-99' }), 1)
})

t.test('the histograms hold what batches took', async (t) => {
  const { registry, flush, behind } = createMetrics()
  for (const seconds of [0.0005, 0.004, 0.2]) flush('latest', seconds)
  behind('latest', 40)
  const text = await registry.metrics()
  const upTo = (name, le) => valueOf(text, `${name}_bucket`, { feed: 'latest', le })
  t.same(['0.001', '0.005', '0.1', '0.25', '+Inf'].map((le) => upTo('freshet_flush_seconds', le)), [1, 2, 2, 3, 3])
  t.same(['0.025', '0.05'].map((le) => upTo('freshet_behind_seconds', le)), [0, 1])
})

t.test('status is of all open feeds, and names the one that has a reason', async (t) => {
  const { follow, unfollow, status } = createMetrics()
  t.same(status(), { ready: true, reasons: [], nodes: [], feeds: 0 })
  follow('a', createWriter({}, { reasons: ['SERVER_LOST: gone'] }))
  t.match(status(), { ready: false, reasons: ['SERVER_LOST: gone'], feeds: 1 })
  follow('b', createWriter())
  t.match(status(), { ready: false, reasons: ['a: SERVER_LOST: gone'], feeds: 2 })
  unfollow('a')
  t.match(status(), { ready: true, reasons: { length: 0 }, feeds: 1 })
})
