/**
 * What a plan may say of serving.
 */
import t from 'tap'
import { checkSettings } from '../../settings.js'
import { layoutNames } from '../../src/layouts/index.js'
import { readPlan } from '../../lab/plan/index.js'
import { leastSeconds } from '../../lab/plan/plan-faults.js'
import { scheduleOf } from '../../lab/plan/schedule.js'
import { DEFAULT_PATH, servingAt } from '../../lab/serving/plan.js'
import { ackNames } from '../../src/pipeline/acks.js'

const KNOWN = {
  checkSettings: (/** @type {any} */ settings, /** @type {'writer' | 'reader' | undefined} */ command) =>
    checkSettings(settings, { layouts: layoutNames(), acks: ackNames() }, command)
}
const NAME = '013-my-question'

/** @param {Record<string, any>} serving of arms @param {object} [changes] @returns {any} */
const raw = (serving, changes = {}) => ({
  title: 'A or B?',
  question: 'Does B cost less than A?',
  baseline: 'reader',
  ceiling: 'bare',
  arms: Object.fromEntries(Object.entries({ reader: { by: 'reader' }, bare: { by: 'bare' }, ...serving }).map(([arm, one]) =>
    [arm, { serving: one }])),
  levels: { one: { settings: { rate: 10_000 } } },
  seconds: 4,
  warmUpSeconds: 1,
  rounds: 5,
  measures: ['servingCpuMicrosPerRequest', 'requestsPerSecond', 'latencyMsP99'],
  ...changes
})

/** @param {unknown} plan @returns {string[]} */
function faultsOf (plan) {
  try {
    readPlan(NAME, plan, KNOWN)
  } catch (error) {
    if (error.code !== 'PLAN_INVALID') throw error
    return error.faults
  }
  return []
}

t.test('serving has defaults, and an arm without it has none', async (t) => {
  const plan = readPlan(NAME, raw({ ask: { by: 'ask', processes: 2, everyMs: 250 } }, { fixed: { layout: 'ids' } }), KNOWN)
  t.same(plan.arms.reader.serving,
    { by: 'reader', asks: 'pages', processes: 1, connections: 32, everyMs: 0, path: '/v1/feeds/lab/items?limit=100', settings: {} })
  t.match(plan.arms.ask.serving, { by: 'ask', processes: 2, everyMs: 250, connections: 32 })
  t.throws(() => { /** @type {any} */ (plan.arms.reader.serving).by = 'bare' }, TypeError)
  const without = readPlan(NAME,
    { ...raw({}), arms: { reader: { settings: { layout: 'ids' } }, bare: { load: 'blob' } }, measures: ['itemsPerSecond'] }, KNOWN)
  t.notOk('serving' in without.arms.reader)
})

t.test('all faults of serving are reported at once', async (t) => {
  t.same(faultsOf(raw({
    a: { by: 'raeder' },
    d: { by: 'ask', processes: 9, connections: 0, everyMs: 0.5, path: 'items', settings: [], port: 1 },
    b: { by: 'reader', settings: { maxStaleMs: -1, batchMs: 5, port: 80 } },
    c: { by: 'ask', processes: 8, connections: 4, path: '/v1/feeds/lab/count', settings: { maxStaleMs: 1, readFrom: 'nowhere' } }
  })).map((fault) => fault.replace(/(the settings of a reader are redisUrl) .*/, '$1')).toSorted(), [
    'arms.a.serving.by: "raeder"; did you mean reader?',
    'arms.d.serving.connections: 0; expected an integer from 1 to 2,000',
    'arms.d.serving.everyMs: 0.5; expected an integer from 0 to 60,000',
    'arms.d.serving.path: "items"; expected a path of the reader, such as /v1/feeds/lab/items?limit=100',
    'arms.d.serving.port is unknown; expected one of: by, asks, processes, connections, everyMs, path, idsEach, maxRate, settings',
    'arms.d.serving.processes: 9; expected an integer from 1 to 8',
    'arms.d.serving.settings: []; expected an object',
    'arms.b.serving.settings.port: the lab sets it; leave it out',
    'arms.b.serving.settings: batchMs is unknown; the settings of a reader are redisUrl',
    'arms.b.serving.settings: maxStaleMs: -1 (setting); expected an integer from 0 to 3,600,000',
    'arms.c.serving.connections: 4; expected at least 8: one for each process',
    'arms.c.serving.path: "/v1/feeds/lab/count"; expected /v1/feeds/lab/items?limit=100, or another limit: ask serves nothing else',
    'arms.c.serving.settings.maxStaleMs: a setting of the reader; ask takes readFrom only',
    'arms.c.serving.settings.readFrom: "nowhere"; expected replica or primary'
  ].toSorted())
})

t.test('what is served must be a feed that the server knows', async (t) => {
  const arms = raw({}).arms
  t.same(faultsOf(raw({}, { arms: { ...arms, blob: { load: 'blob', serving: { by: 'reader', processes: 2 } } } })),
    ['arms.blob.serving: load blob writes no feed that can be served; expected load writer or library'])
  t.same(faultsOf(raw({}, { fixed: { layout: 'values', partitions: 4 } })),
    ['arms.bare.serving: bare reads one partition; expected partitions 1, not 4'])
})

t.test('asking for freshness, or for everything, needs a load with distinguishable items', async (t) => {
  const newest = { path: '/v1/feeds/lab/items?limit=1', connections: 1, everyMs: 1 }
  const all = { path: '/v1/feeds/lab/items?limit=1000000', connections: 1 }
  const fresh = (/** @type {object} */ changes) => raw({ fresh: { by: 'reader', asks: 'freshness', ...newest, ...changes } })
  const everything = (/** @type {object} */ changes) => raw({ all: { by: 'reader', asks: 'everything', ...all, ...changes } })
  t.same(faultsOf(fresh({})), [])
  t.same(faultsOf(everything({})), [])
  t.same(faultsOf(everything({ by: 'ask' })), [])

  t.same(faultsOf({
    ...fresh({ by: 'bare', processes: 2, connections: 2, everyMs: 0, path: '/v1/feeds/lab/items' }),
    levels: { one: { settings: { rate: 999 } } }
  }), [
    'arms.fresh.serving.processes: 2; expected 1: asks freshness measures one process',
    'arms.fresh.serving.everyMs: 0; expected at least 1: asks freshness needs an interval',
    'arms.fresh.serving: asks freshness of bare, whose response is constant; expected by reader or ask',
    'arms.fresh.serving.path: "/v1/feeds/lab/items"; expected /v1/feeds/lab/items?limit=1',
    'arms.fresh.serving: asks freshness needs an item in each millisecond; expected a steady pace with catchUp and at least 1000 ' +
      'items/s, not 999'
  ])
  t.same(faultsOf({ ...everything({ connections: 2, everyMs: 5, path: '/v1/feeds/lab/items?limit=1000' }), fixed: { writers: 2 } }), [
    'arms.all.serving.connections: 2; expected 1: asks everything sends one request after the other',
    'arms.all.serving.everyMs: 5; expected 0: asks everything sends one request after the other',
    'arms.all.serving.path: "/v1/feeds/lab/items?limit=1000"; expected /v1/feeds/lab/items?limit=1000000, or another limit from 100000, ' +
      'the ids of the load',
    'arms.all.serving: asks everything checks the numbers of one writer; expected writers 1, not 2'
  ])
  t.same(faultsOf({ ...fresh({}), fixed: { valueBytes: 8 } }),
    ['arms.fresh.serving: asks freshness reads the numbers in values; expected valueBytes 12 or more, and values that change'])
  t.same(faultsOf({ ...everything({}), fixed: { valueChange: 'never' } }),
    ['arms.all.serving: asks everything reads the numbers in values; expected valueBytes 12 or more, and values that change'])
  t.same(faultsOf({ ...everything({ by: 'ask' }), fixed: { layout: 'values' } }),
    ['arms.all.serving: ask reads all items of layout ids only; expected that, not values'])
  t.same(faultsOf({ ...everything({ by: 'bare' }), fixed: { layout: 'values' } }), [])
  t.equal(leastSeconds(readPlan(NAME, fresh({}), KNOWN)), 1.75)
})

t.test('following a feed needs a load with distinguishable items, and as many ids as are followed', async (t) => {
  const push = (/** @type {object} */ changes) =>
    raw({ push: { by: 'reader', asks: 'push', connections: 10, idsEach: 20, maxRate: 10, ...changes } })
  const poll = (/** @type {object} */ changes) =>
    raw({ poll: { by: 'reader', asks: 'poll', connections: 10, idsEach: 20, everyMs: 100, ...changes } })
  const whole = (/** @type {object} */ changes, /** @type {object} */ fixed = {}) =>
    ({ ...push({ idsEach: undefined, ...changes }), fixed: { ids: 100, ...fixed } })
  t.same(faultsOf(push({})), [])
  t.same(faultsOf(push({ by: 'bare' })), [])
  t.same(faultsOf(push({ by: 'centrifugo' })), [])
  t.same(faultsOf(raw({ push: { by: 'centrifugo' } })),
    ['arms.push.serving.asks: "pages"; expected push: centrifugo serves nothing else'])
  t.same(faultsOf(poll({})), [])
  t.same(faultsOf(whole({})), [])
  t.same(faultsOf(push({ everyMs: 10 })),
    ['arms.push.serving.everyMs: 10; expected 0: asks push sends one request; maxRate bounds the events'])
  t.same(faultsOf(push({ by: 'ask' })), ['arms.push.serving: asks push of ask, which is not supported; expected by reader or bare'])
  t.same(faultsOf(poll({ by: 'bare', everyMs: 0, maxRate: 10 })), [
    'arms.poll.serving: asks poll of bare, which is not supported; expected by reader',
    'arms.poll.serving.everyMs: 0; expected at least 1: asks poll needs an interval',
    'arms.poll.serving.maxRate: asks poll uses everyMs; leave it out'
  ])
  t.same(faultsOf(push({ connections: 500, idsEach: 201 })),
    ['arms.push.serving.idsEach: 201; expected at most 200: the ids of the load for each connection'])
  t.same(faultsOf(push({ idsEach: undefined })),
    ['arms.push.serving.idsEach is missing; expected it, or a feed of at most 10000 ids, not 100000'])
  t.same(faultsOf(push({ connections: 2001, idsEach: 0, maxRate: 101 })), [
    'arms.push.serving.connections: 2001; expected an integer from 1 to 2,000',
    'arms.push.serving.idsEach: 0; expected an integer from 1 to 1,000',
    'arms.push.serving.maxRate: 101; expected a number from 0.1 to 100'
  ])
  t.same(faultsOf(whole({}, { valueBytes: 8 })),
    ['arms.push.serving: asks push reads the numbers in values; expected valueBytes 12 or more, and values that change'])
  t.match(faultsOf(whole({}, { valueBytes: 20, writers: 2 })), [/expected valueBytes 4\d or more/])
  t.same(faultsOf({ ...whole({}), levels: { one: { settings: { rate: 0 } } } }),
    ['arms.push.serving: asks push needs a rate; expected one above 0'])
  t.same(faultsOf(whole({ connections: 900, maxRate: undefined }, { ids: 1000 })), [])
  t.match(faultsOf(whole({ connections: 900, maxRate: undefined }, { ids: 1001 })),
    [/^arms\.push\.serving: the volume is so high that only one client of \d+ is read in the window/])
  t.same(faultsOf(raw({ pages: { by: 'reader', idsEach: 20, maxRate: 10 } })), ['arms.pages.serving.idsEach: only for asks push and ' +
    'poll; leave it out', 'arms.pages.serving.maxRate: only for asks push and poll; leave it out'])
  t.match(readPlan(NAME, whole({}), KNOWN).arms.push.serving, { asks: 'push', connections: 10, maxRate: 10, everyMs: 0 })
  t.notOk('idsEach' in /** @type {any} */ (readPlan(NAME, whole({}), KNOWN).arms.push.serving))
})

t.test('L11: where freshness is asked the ceiling asks a server each time, as nothing that stands still is fresh', async (t) => {
  const serving = { asks: 'freshness', path: '/v1/feeds/lab/items?limit=1', connections: 1, everyMs: 1 }
  const plan = {
    ...raw({}), ceiling: 'ask', arms: { reader: { serving: { by: 'reader', ...serving } }, ask: { serving: { by: 'ask', ...serving } } }
  }
  t.same(faultsOf(plan), [])
  t.match(faultsOf({ ...plan, arms: { ...plan.arms, ask: { serving: { by: 'ask' } } } }),
    [/^ceiling: "ask" runs our code; expected an arm without it: load blob, or serving by bare/])
})

t.test('a level may change settings of all arms that serve', async (t) => {
  const plan = readPlan(NAME, raw({}, {
    levels: { 'newest 1,000': { serving: { path: '/v1/feeds/lab/items?limit=1000' } }, slow: { serving: { everyMs: 1000 } }, usual: {} }
  }), KNOWN)
  const { reader: { serving } } = plan.arms
  t.match(servingAt(serving, plan.levels['newest 1,000'].serving), { by: 'reader', path: '/v1/feeds/lab/items?limit=1000', everyMs: 0 })
  t.match(servingAt(serving, plan.levels.slow.serving), { path: DEFAULT_PATH, everyMs: 1000 })
  t.same(servingAt(serving, plan.levels.usual.serving), serving)
  t.equal(servingAt(undefined, plan.levels.slow.serving), undefined)
  t.equal(leastSeconds(plan), 2.75)
  t.same(faultsOf(raw({}, { levels: { one: { serving: { path: '/v1/feeds/lab/count' } }, two: { serving: { by: 'ask' } } } })), [
    'levels.two.serving.by is unknown; expected one of: connections, everyMs, path, idsEach',
    'arms.bare.serving at levels.one.path: "/v1/feeds/lab/count"; expected /v1/feeds/lab/items?limit=100, or another limit: bare serves ' +
      'nothing else'
  ])
})

t.test('arms that serve alike are the same, others are not', async (t) => {
  t.same(faultsOf(raw({ more: { by: 'reader', processes: 2 } })), [])
  t.same(faultsOf(raw({ again: { by: 'reader' } })),
    ['arms.again: the same as arms.reader; expected a difference (the lab adds the A/A pair itself)'])
})

t.test('L9: the window holds two periods of asking, and what the client needs beside its own', async (t) => {
  t.equal(leastSeconds(readPlan(NAME, raw({}), KNOWN)), 1.25)
  t.same(faultsOf(raw({ slow: { by: 'reader', everyMs: 2000 } })), ['seconds: 4; expected at least 4.75: 2 times the longest period ' +
    '(periodMs, batchMs, everyMs) of the plan, and the time that serving needs'])
  t.match(faultsOf(raw({}, { warmUpSeconds: 0 })),
    ['warmUpSeconds: 0; expected more with serving: the feed must be filled before requests begin'])
  const plan = readPlan(NAME, raw({ slow: { by: 'reader', everyMs: 1000 } }), KNOWN)
  t.throws(() => scheduleOf(plan, { seconds: 1 }), { code: 'PLAN_INVALID' })
})
