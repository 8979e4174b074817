/** An experiment on somebody else's servers as the user that docs/acl has for it: every way of writing, and a reader. */
import t from 'tap'
import { LAB_COMMANDS } from '../../lab/servers/commands.js'
import { commandName } from '../../src/store/commands.js'
import { engineName } from '../../test/servers.js'
import { startGuarded } from '../../test/store/guarded.js'
import { loadHere } from '../../test/lab/load.js'
import { ONCE, labCheckout, pathsIn, readJson, runLab, tinyPlan } from '../../test/lab/lab-checkout.js'
import { scopedEngines } from '../../test/scope.js'

const WRITING = ['reference', 'published-list-hll', 'published-set']
const FIXED = { ids: 400, valueBytes: 128, batchItems: 100, maxItems: 1000 }
const READING = {
  view: { settings: { layout: 'segments' }, serving: { by: 'reader' } },
  asked: { settings: { layout: 'ids' }, serving: { by: 'reader', settings: { views: 'none' } } },
  bare: { settings: { layout: 'segments' }, serving: { by: 'bare' } }
}

const [engine] = await scopedEngines()
t.test(`${engineName(engine)}: no arm is refused anything, and the user may nothing that none of them needs`, async (t) => {
  const { urlOf, control, refused } = await startGuarded(t, engine)
  const root = await labCheckout(t, {
    '901-writing': tinyPlan({
      arms: { ids: { settings: { layout: 'ids' } }, function: { load: 'function-per-batch' }, blob: { load: 'blob' } },
      fixed: FIXED
    }),
    '902-reading': tinyPlan({ arms: READING, baseline: 'view', ceiling: 'bare', measures: ['requestsPerSecond'], seconds: 2 })
  })
  await control.send('CONFIG', 'RESETSTAT')
  for (const [i, load] of WRITING.entries()) {
    const settings = { ...FIXED, keyPrefix: `lab-0000000${i}:`, feed: 'lab', items: 2000, windowMs: 60_000 }
    t.match(await loadHere({ load, settings, redisUrl: urlOf('lab') }), { status: 0, failed: null }, load)
  }
  for (const args of [['901', ...ONCE], ['902', '--rounds', '1']]) {
    const { code, stdout, stderr } = await runLab(t, root, [...args, '--target', urlOf('lab')])
    t.equal(code, 0, `${stdout}${stderr}`.slice(-3000))
  }
  // the client of the published way says its name and version, and does without
  t.same((await refused()).filter((entry) => !entry.includes('client|setinfo')), [])
  for (const file of await pathsIn(root, /lab\/results\/.*\.json$/)) {
    for (const { arm, valid, reasons } of (await readJson(file)).samples) t.ok(valid, `${arm} ${reasons}`)
  }
  const seen = new Set([...String(await control.send('INFO', 'commandstats')).matchAll(/^cmdstat_(\S+?):/gm)].map(([, name]) =>
    name.toUpperCase()))
  t.same(LAB_COMMANDS.map(commandName).filter((name) => !seen.has(name)), [], 'all of them were sent')
})
