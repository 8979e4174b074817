/**
 * A plan whose clients follow a feed, as a person runs it.
 */
import { join } from 'node:path'
import { labCheckout, pathsIn, readJson, runLab, tinyPlan } from '../../test/lab/lab-checkout.js'
import { nightTest } from '../../test/scope.js'

nightTest('a plan with them runs, quick as well', async (t) => {
  const push = { asks: 'push', connections: 4, maxRate: 20 }
  const root = await labCheckout(t, {
    '903-push': tinyPlan({
      baseline: 'push',
      ceiling: 'bare',
      arms: { push: { serving: { by: 'reader', ...push } }, bare: { serving: { by: 'bare', ...push } } },
      levels: { 'four clients': { serving: { idsEach: 10 } } },
      fixed: { layout: 'segments', ids: 400, rate: 2000, valueBytes: 64, batchItems: 100, maxItems: 0 },
      seconds: 2,
      warmUpSeconds: 1,
      measures: ['servingCpuPercent', 'deliveryMsP99', 'eventsPerSecond', 'servingMemoryGrowthBytes', 'clientLoopPercent'],
      budgets: [{ measure: 'servingCpuPercent', arm: 'push', most: 100 }]
    })
  })
  const { stdout, stderr } = await runLab(t, root, ['903', '--quick'])
  t.match(stdout, /^not a result: a quick run/)
  t.match(stdout, /four clients: Serving CPU, % of a core/, stderr)
  const [file] = await pathsIn(join(root, '.freshet', 'lab', 'results'), /903-push.*json$/)
  const { samples } = await readJson(file)
  t.same(samples.map((/** @type {any} */ { arm }) => arm), ['push', 'bare', 'push (A/A)'])
})
