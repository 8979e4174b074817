/** Settings of a writer in other places than its command line: in a plan, or in quotes for an ad-hoc experiment. */
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

t.test('all faults of the settings of a plan are reported', async (t) => {
  t.same(checkSettings({
    layout: 'values', rate: 50_000, batchMs: 10, replicaUrl: ['redis://a:1', 'redis://b:2'], items: null, feed: undefined
  }, REST), [])
  t.same(checkSettings({}, REST), [])
  t.same(checkSettings({ layuot: 'ids', batchms: 5, layout: 'list', rate: 'x', writers: 0.5, catchUp: true }, REST), [
    'layuot is unknown; did you mean layout?',
    'batchms is unknown; did you mean batchMs?',
    'layout: list (setting); expected ids | values',
    'rate: x (setting); expected a number from 0 to 100,000,000',
    'writers: 0.5 (setting); expected an integer from 1 to 64',
    'catchUp: true (setting); expected yes | no'
  ])
  t.match(checkSettings({ quick: true }, REST), [/^quick is unknown; the settings of a writer are redisUrl /], 'a setting of another command')
})

t.test('rules between settings hold in a plan as well', async (t) => {
  t.match(checkSettings({ layout: 'values', windowMs: 0, maxItems: 0 }, REST), [/keeps every version/])
  t.match(checkSettings({ pace: 'burst', rate: 0 }, REST), [/^pace: burst \(setting\); expected with a --rate above 0/])
  t.match(checkSettings({ format: 'csv' }, REST), [/^format: csv \(setting\); expected only with --source stdin/])
  t.match(checkSettings({ sortedSetContainsActualValue: true }, { ...REST, layouts: ['ids'] }),
    [/^layout: values \(setting\); expected ids/])
})

t.test('settings become flags that a writer reads as the same settings', async (t) => {
  t.same(flagsOf({ layout: 'ids', rate: 50_000, feed: null, items: undefined, open: true, quick: false }),
    ['--layout', 'ids', '--rate', '50000', '--open'])
  const settings = Object.fromEntries(SETTINGS.filter(({ group, uses, default: value }) =>
    uses.includes('writer') && group !== 'Input' && value !== null).map(({ name, default: value }) => [name, value]))
  const back = resolve(flagsOf({ ...settings, rate: 0.5, redisUrl: 'redis://p:1', replicaUrl: ['redis://a:1', 'redis://b:2'] }), {},
    { ...REST, command: 'writer' })
  for (const [name, value] of Object.entries(settings)) if (name !== 'rate') t.equal(back[name], value, name)
  t.match(back, { rate: 0.5, replicaUrl: ['redis://a:1', 'redis://b:2'] })
})

t.test('flags in one text become settings, without defaults', async (t) => {
  t.same(settingsOfFlags('--layout ids --batch-ms 10', REST, '--a'), { layout: 'ids', batchMs: 10 })
  t.same(settingsOfFlags('  --batch-ms=10\t--late newest ', REST, '--a'), { batchMs: 10, late: 'newest' })
  t.same(settingsOfFlags('--sorted-set-contains-actual-value true', REST, '--a'), { sortedSetContainsActualValue: true })
})

t.test('faults of such a text name its origin', async (t) => {
  t.same(faultsOf(() => settingsOfFlags('--layout list --batch 10 word --rate', REST, '--b')), [
    '--b: --batch is unknown; did you mean --batch-items, --batch-bytes or --batch-ms?',
    '--b: unexpected argument "word"; a value follows its flag',
    '--b: layout: list (--layout); expected ids | values',
    '--b: rate: no value (--rate); expected a number from 0 to 100,000,000'
  ])
  t.same(faultsOf(() => settingsOfFlags('layout ids', REST, '--a')),
    ['layout', 'ids'].map((word) => `--a: unexpected argument "${word}"; a value follows its flag`))
  t.match(faultsOf(() => settingsOfFlags('--layout values --window-ms 0 --max-items 0', REST, '--a')),
    [/^--a: windowMs: 0 .* keeps every version/])
})

t.test('--a and --b take flags in quotes as their value', async (t) => {
  const typed = ['ad-hoc', '--a', '--layout ids', '--b', '--layout values --batch-ms 10', '--rate', '100000']
  t.match(resolve(typed, {}, EXPERIMENT), { a: '--layout ids', b: '--layout values --batch-ms 10', rate: 100_000, positionals: ['ad-hoc'] })
  t.match(resolve(['ad-hoc', '--b=--ids 5', '--a', '--late newest'], {}, EXPERIMENT), { a: '--late newest', b: '--ids 5', rate: null })
  t.match(faultsOf(() => resolve(['ad-hoc', '--a', '--b', '--layout ids'], {}, EXPERIMENT)),
    [/^a: no value \(--a\); expected flags of the writer in quotes/])
  t.match(faultsOf(() => resolve(['ad-hoc', '--a', '--ids 5', '--a', '--ids 6'], {}, EXPERIMENT)), [/^a: given 2 times/])
})

t.test('--a and --b have no variable; they and a rate belong to ad-hoc', async (t) => {
  t.match(faultsOf(() => resolve(['ad-hoc'], { FRESHET_A: '--layout ids' }, EXPERIMENT)), [/^FRESHET_A \(environment\) is unknown/])
  t.same(faultsOf(() => resolve(['007', '--a', '--layout ids', '--rate', '5'], {}, EXPERIMENT)),
    ['a: --layout ids (--a); expected only with ad-hoc', 'rate: 5 (--rate); expected only with ad-hoc'])
  t.match(resolve(['007', '--quick', '--rounds', '3'], { FRESHET_RATE: '5' }, EXPERIMENT),
    { quick: true, rounds: 3, rttMs: 0, positionals: ['007'] })
})

t.test('the help of experiments writes every flag with two dashes, in one column', async (t) => {
  const text = await help(EXPERIMENT, 'Usage: x', ['--help', 'all'])
  t.match(text, /^ {2}--a {2,}Ad-hoc: settings of the baseline/m)
  t.match(text, /^ {2}--b {2,}Ad-hoc: settings to compare/m)
  t.notMatch(text, /^ *-[a-z]/m)
})
