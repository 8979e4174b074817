/**
 * Settings of a writer that stand somewhere else than on its command line: in a plan, or in the quotes of an ad-hoc
 * experiment.
 */
import t from 'tap'
import { SETTINGS, SettingsInvalid, checkSettings, flagsOf, help, resolve, settingsOfFlags } from '../../settings.js'

const REST = { layouts: ['ids', 'values'], acks: ['primary', 'replica'] }
const EXPERIMENT = { ...REST, command: 'experiment', positionals: 4 }

/** @param {() => unknown} act @returns {string[]} */
function faultsOf (act) {
  try {
    act()
  } catch (error) {
    if (error instanceof SettingsInvalid) return error.faults
    throw error
  }
  return []
}

t.test('settings of a plan have no fault, or all of theirs are told', async (t) => {
  t.same(checkSettings({ layout: 'values', rate: 50_000, batchMs: 10, replicaUrl: ['redis://a:1', 'redis://b:2'], items: null, feed: undefined }, REST), [])
  t.same(checkSettings({}, REST), [])
  t.same(checkSettings({ layuot: 'ids', batchms: 5, layout: 'list', rate: 'x', writers: 0.5, catchUp: true }, REST), [
    'layuot is unknown; the settings of a writer are layout',
    'batchms is unknown; the settings of a writer are batchItems batchBytes batchMs',
    'layout: list (setting); expected ids | values',
    'rate: x (setting); expected a number from 0 to 100,000,000',
    'writers: 0.5 (setting); expected an integer from 1 to 64',
    'catchUp: true (setting); expected yes | no'
  ])
  t.match(checkSettings({ port: 80 }, REST), [/^port is unknown; /], 'that of another command')
})

t.test('rules between settings hold in a plan as well', async (t) => {
  t.match(checkSettings({ layout: 'values', windowMs: 0, maxItems: 0 }, REST), [/keeps every version/])
  t.match(checkSettings({ pace: 'burst', rate: 0 }, REST), [/^pace: burst \(setting\); expected with a --rate above 0/])
  t.match(checkSettings({ format: 'csv' }, REST), [/^format: csv \(setting\); expected only with --source stdin/])
  t.match(checkSettings({ sortedSetContainsActualValue: true }, { ...REST, layouts: ['ids'] }), [/^layout: values \(setting\); expected ids/])
})

t.test('settings become flags that a writer reads as the same settings', async (t) => {
  t.same(flagsOf({ layout: 'ids', rate: 50_000, feed: null, items: undefined, open: true, quick: false }), ['--layout', 'ids', '--rate', '50000', '--open'])
  const settings = Object.fromEntries(SETTINGS.filter(({ group, uses, default: value }) => uses.includes('writer') && group !== 'Input' && value !== null).map(({ name, default: value }) => [name, value]))
  const back = resolve(flagsOf({ ...settings, rate: 0.5, redisUrl: 'redis://p:1', replicaUrl: ['redis://a:1', 'redis://b:2'] }), {}, { ...REST, command: 'writer' })
  for (const [name, value] of Object.entries(settings)) if (name !== 'rate') t.equal(back[name], value, name)
  t.match(back, { rate: 0.5, replicaUrl: ['redis://a:1', 'redis://b:2'] })
})

t.test('settings typed in one text are those, and nothing else', async (t) => {
  t.same(settingsOfFlags('--layout ids --batch-ms 10', REST, '--a'), { layout: 'ids', batchMs: 10 })
  t.same(settingsOfFlags('  --batch-ms=10\t--late drop ', REST, '--a'), { batchMs: 10, late: 'drop' })
  t.same(settingsOfFlags('--sorted-set-contains-actual-value true', REST, '--a'), { sortedSetContainsActualValue: true })
})

t.test('faults of such a text name where it came from', async (t) => {
  t.same(faultsOf(() => settingsOfFlags('--layout list --batch 10 word --rate', REST, '--b')), [
    '--b: --batch is unknown; writer knows --batch-items --batch-bytes --batch-ms',
    '--b: "word" is not expected: values follow a flag',
    '--b: layout: list (--layout); expected ids | values',
    '--b: rate: no value (--rate); expected a number from 0 to 100,000,000'
  ])
  t.same(faultsOf(() => settingsOfFlags('layout ids', REST, '--a')), ['--a: "layout", "ids" is not expected: values follow a flag'])
  t.match(faultsOf(() => settingsOfFlags('--layout values --window-ms 0 --max-items 0', REST, '--a')), [/^--a: windowMs: 0 .* keeps every version/])
})

t.test('settings in quotes are the value of --a and --b, dashes and all', async (t) => {
  const typed = ['ad-hoc', '--a', '--layout ids', '--b', '--layout values --batch-ms 10', '--rate', '100000']
  t.match(resolve(typed, {}, EXPERIMENT), { a: '--layout ids', b: '--layout values --batch-ms 10', rate: 100_000, positionals: ['ad-hoc'] })
  t.match(resolve(['ad-hoc', '--b=--ids 5', '--a', '--late drop'], {}, EXPERIMENT), { a: '--late drop', b: '--ids 5', rate: null })
  t.match(faultsOf(() => resolve(['ad-hoc', '--a', '--b', '--layout ids'], {}, EXPERIMENT)), [/^a: no value \(--a\); expected flags of the writer in quotes/])
  t.match(faultsOf(() => resolve(['ad-hoc', '--a', '--ids 5', '--a', '--ids 6'], {}, EXPERIMENT)), [/^a: given 2 times/])
})

t.test('they have no variable, and belong to ad-hoc, as does a rate', async (t) => {
  t.match(faultsOf(() => resolve(['ad-hoc'], { FRESHET_A: '--layout ids' }, EXPERIMENT)), [/^FRESHET_A \(environment\) is unknown/])
  t.same(faultsOf(() => resolve(['007', '--a', '--layout ids', '--rate', '5'], {}, EXPERIMENT)), ['a: --layout ids (--a); expected only with ad-hoc', 'rate: 5 (--rate); expected only with ad-hoc'])
  t.match(resolve(['007', '--quick', '--rounds', '3'], { FRESHET_RATE: '5' }, EXPERIMENT), { quick: true, rounds: 3, timeScale: 1, rttMs: 0, positionals: ['007'] })
})

t.test('the help of experiments writes every flag with two dashes, in one column', async (t) => {
  const text = await help(EXPERIMENT, 'Usage: x')
  t.match(text, /^ {6}--a {2,}ad-hoc: the first settings/m)
  t.match(text, /^ {6}--b {2,}ad-hoc: the second settings/m)
  t.notMatch(text, /^ *-[a-z]/m)
})
