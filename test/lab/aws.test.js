/** The lab on ElastiCache: its blocks, its percentages, and what the report says of them. Against AWS: regression/lab/aws.test.js. */
import t from 'tap'
import { measureBlocks } from '../../lab/aws/blocks.js'
import { replicaUrlsOf } from '../../lab/aws/group.js'
import { minutesOf, percentagesOf } from '../../lab/aws/percentages.js'
import { cloudwatchLines, cloudwatchSection } from '../../lab/report/cloudwatch.js'
import { GROUP, TARGET } from './group.js'
import { tinyPlan } from './lab-checkout.js'

const MINUTE_MS = 60_000
const { signal } = new AbortController()

t.test('whole minutes of a block, without the first and the last', async (t) => {
  const at = (/** @type {string} */ time) => Date.parse(`2026-11-25T${time}Z`)
  t.same(minutesOf(at('10:00:20'), at('10:05:20')), { fromMs: at('10:01:00'), toMs: at('10:05:00'), count: 4 })
  t.same(minutesOf(at('10:00:00'), at('10:05:00')), { fromMs: at('10:01:00'), toMs: at('10:04:00'), count: 3 })
  t.match(minutesOf(at('10:00:20'), at('10:00:50')), { count: 0 })
})

t.test('replicas of a group have the user of the target, which must be its primary', async (t) => {
  t.same(replicaUrlsOf(GROUP, TARGET), ['rediss://freshet-lab:secret@feed-002.example:6379'])
  t.same(replicaUrlsOf(GROUP, TARGET.replace('primary', 'feed-001')), replicaUrlsOf(GROUP, TARGET).map((url) => url))
  t.throws(() => replicaUrlsOf(GROUP, TARGET.replace('primary', 'feed-002')), {
    code: 'LAB_TARGET_REFUSED',
    message: '--target is feed-002.example:6379, and the primary of the replication group feed is primary.example:6379; use that, or ' +
      'the group of feed-002.example:6379'
  })
})

t.test('late points are awaited, and missing ones are counted', async (t) => {
  let looks = 0
  const metrics = async () => ++looks < 3 ? [{ Id: 'm0', Values: [50] }] : [{ Id: 'm0', Values: [50, 60] }, { Id: 'm1', Values: [30, 40] }]
  const block = { nodes: GROUP.nodes.slice(0, 1), fromMs: 0, toMs: 3.5 * MINUTE_MS, signal, lookEveryMs: 1 }
  t.same(await percentagesOf({ metrics }, block),
    [{ id: 'feed-001', role: 'primary', engineCpuPercent: 55, cpuPercent: 35, minutes: 2, missing: 0 }])
  looks = 0
  t.same(await percentagesOf({ metrics }, { ...block, waitMs: 0 }),
    [{ id: 'feed-001', role: 'primary', engineCpuPercent: 50, cpuPercent: null, minutes: 2, missing: 3 }])
})

t.test('each arm is measured once at each level, and stands beside what was published', async (t) => {
  const plan = /** @type {any} */ ({
    ...tinyPlan(),
    published: { unit: 'percent of the node', figures: [{ label: 'r6g.large, 40 k', arm: 'ids', value: 11 }] }
  })
  const cell = { level: 'slow', round: 1, warmUpSeconds: 0 }
  const schedule = [{ ...cell, arm: 'ids' }, { ...cell, arm: 'blob' }, { ...cell, arm: 'ids (A/A)', aaOf: 'ids' },
    { ...cell, arm: 'ids', round: 2 }]
  /** @type {any[]} */
  const [blocks, asked] = [[], []]
  const parts = {
    schedule,
    blocks,
    measure: async (/** @type {any} */ { arm, isBlock }, /** @type {number} */ seconds) => /** @type {any} */ ({
      windowStartedAt: '2026-11-25T10:00:20.000Z',
      seconds,
      items: 4000 * seconds,
      nodes: [{ cpuPercent: 21.5 }, { cpuPercent: 9 }],
      error: arm === 'blob' && isBlock ? { code: 'SERVER_FULL', message: 'full' } : null
    }),
    async percentages (/** @type {any} */ block) {
      asked.push(block)
      return GROUP.nodes.map(({ id, role }) =>
        ({ id, role, engineCpuPercent: 22, cpuPercent: 12.5, minutes: 4, missing: role === 'replica' ? 2 : 0 }))
    },
    save: async () => {},
    report: () => {}
  }
  await measureBlocks(parts)
  await measureBlocks(parts)
  const fromMs = Date.parse('2026-11-25T10:00:20Z')
  t.same(asked, [{ fromMs, toMs: fromMs + 300_000 }], 'once, and not for what ended')
  const result = /** @type {any} */ ({ blocks })
  t.same(cloudwatchLines(result, plan), [
    'CloudWatch: CPU = CPUUtilization, % of the node; engine = EngineCPUUtilization, INFO = its counters, both % of a core',
    '  arm   level  node                         CPU  engine  INFO  items/s              minutes',
    '  ids   slow   primary feed-001            12.5    22.0  21.5    4,000                    4',
    '  ids   slow   replica feed-002            12.5    22.0  9.00    4,000  4, 2 points missing',
    '  ids          published: r6g.large, 40 k  11.0       -     -        -                    -',
    '  blob  slow   ended: SERVER_FULL             -       -     -        -                    -',
    ''
  ])
  t.match(cloudwatchSection(result, plan), /\n\n\| arm \| level .*\n.*--:.*\n\| `ids` \| slow \| primary feed-001 \| 12.5 \| 22.0 \|/)
  t.same([cloudwatchLines(/** @type {any} */ ({}), plan), cloudwatchSection(/** @type {any} */ ({}), plan)], [[], ''])
})
