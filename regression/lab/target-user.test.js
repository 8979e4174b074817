/** An experiment on somebody else's servers as the user that docs/acl has for it: every way of writing, and a reader. */
import { LAB_COMMANDS } from '../../lab/servers/commands.js'
import { commandName } from '../../src/store/commands.js'
import { engineName } from '../../test/servers.js'
import { startGuarded } from '../../test/store/guarded.js'
import { ONCE, labCheckout, pathsIn, readJson, runLab, tinyPlan } from '../../test/lab/lab-checkout.js'
import { nightTest, scopedEngines } from '../../test/scope.js'

const WRITING = { reference: 'reference', hll: 'published-list-hll', sets: 'published-set' }
const READING = {
  view: { settings: { layout: 'segments' }, serving: { by: 'reader' } },
  asked: { settings: { layout: 'ids' }, serving: { by: 'reader', settings: { views: 'none' } } },
  bare: { settings: { layout: 'segments' }, serving: { by: 'bare' } }
}
const of = (/** @type {Record<string, string>} */ loads) =>
  Object.fromEntries(Object.entries(loads).map(([name, load]) => [name, { load }]))

const [engine] = await scopedEngines()
nightTest(`${engineName(engine)}: no arm is refused anything, and the user may nothing that none of them needs`, async (t) => {
  const { urlOf, control, refused } = await startGuarded(t, engine)
  const root = await labCheckout(t, {
    '901-writing': tinyPlan({
      arms: { ids: { settings: { layout: 'ids' } }, blob: { load: 'blob' }, ...of(WRITING) },
      fixed: { ids: 400, valueBytes: 128, batchItems: 100, maxItems: 1000 }
    }),
    '902-reading': tinyPlan({ arms: READING, baseline: 'view', ceiling: 'bare', measures: ['requestsPerSecond'], seconds: 3 })
  })
  await control.send('CONFIG', 'RESETSTAT')
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
