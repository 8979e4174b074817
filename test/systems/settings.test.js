/** Settings of a module: flags, variables, help, faults, and what commands, handlers and tasks get of them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { resolve, SETTINGS, settingsOf, SettingsInvalid } from '../../settings.js'
import { loadSystems, settingsOfModules } from '../../src/systems/list.js'
import { endOfMain } from '../bin/in-process.js'
import { endOf, logOf, runConsumers, runGateway } from '../commands.js'
import { sharedDeployment } from '../shared.js'
import { ruleOf } from './seats.js'

const { primary: { url: redisUrl }, keyPrefix } = await sharedDeployment(t)
const folder = await mkdtemp(join(tmpdir(), 'freshet-settings-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const LUA = ruleOf(`if args[1] == 'end' then return 'ended', {}, { events = { { type = 'ended', by = args[2] } } } end
  return 'held', { holdMs = args[2] }, { events = { { type = 'held' } }, tasks = { ['end'] = now } }`)
const SETTINGS_OF = `{
  holdMs: { description: 'Time that a seat is held', type: 'integer', minimum: 1000, maximum: 600000, default: 120000, unit: 'ms' },
  receiptsUrl: { description: 'URL that gets receipts', type: 'url', uses: ['consumers', 'demo'] },
  receiptsKey: {
    description: 'Key for it', secret: true, uses: ['consumers', 'demo'],
    fits: (key, { receiptsUrl }) => receiptsUrl === null ? 'together with --receipts-url' : null
  },
  seatRow: {
    description: 'Rows of a hall', expects: 'letters', read (text) { if (!/^[a-z]+$/.test(text)) throw new RangeError(); return [...text] }
  },
  plan: { description: 'Plan of the hall', enum: ['round', 'square'], otherwise: ({ seatRow }) => seatRow === null ? 'round' : 'square' }
}`

/** @param {string} name @param {string} parts @returns {Promise<string>} path of a module */
async function moduleOf (name, parts) {
  const path = join(folder, `${name}.js`)
  await writeFile(path, `export default { name: '${name}', rules: { seat: { lua: ${JSON.stringify(LUA)} } }, ${parts} }`)
  return path
}

const path = await moduleOf('seats', `settings: ${SETTINGS_OF},
  commands: {
    hold: {
      path: '/v1/seats/:id/holds', summary: 'Hold a seat',
      command: ({ params }, own, { settings }) => ({ rule: 'seat', key: params.id, args: ['hold', String(settings.holdMs)] }),
      replies: { held: 201 }
    }
  },
  consumers: ({ settings, decideTask, log }) => ({
    run: (task) => decideTask(task, [settings.plan]),
    handlers: {
      receipts (entries, { settings: { receiptsKey } }) {
        for (const { type, by } of entries) log.info({ by, key: receiptsKey }, 'receipt ' + type)
      }
    }
  })`)
const flags = ['--key-prefix', keyPrefix, '--systems', path]

t.test('commands, tasks and handlers get the values; a secret is not logged with the settings', async (t) => {
  const gateway = await runGateway(t, { redisUrl, flags: [...flags, '--hold-ms', '5000'] })
  const { json } = await gateway.send('POST', '/v1/seats/a/holds', '{}', { 'content-type': 'application/json' })
  t.match(json, { code: 'held', holdMs: 5000 })
  const env = { SEATS_RECEIPTS_KEY: 'k-1', SEATS_SEAT_ROW: 'abc' }
  const { command } = await runConsumers(t, { redisUrl, flags: [...flags, '--receipts-url', 'http://127.0.0.1:9/r'], env })
  await command.until(/receipt ended/)
  const { stderr } = await command.stop()
  const lines = logOf(/** @type {any} */ ({ stderr }))
  t.match(lines.find(({ msg }) => msg === 'receipt ended'), { by: 'square', key: 'k-1' })
  const { settings } = lines.find(({ msg }) => msg === 'settings')
  t.match(settings, { holdMs: 120_000, receiptsUrl: 'http://127.0.0.1:9/r', receiptsKey: '***', seatRow: ['a', 'b', 'c'], plan: 'square' })
  t.notMatch(settings, { ofModules: Array })
})

/** @param {string} command @param {string[]} argv @param {Record<string, string>} [env] @returns {Promise<any>} its settings */
const settingsFor = (command, argv, env = {}) => settingsOf({ argv, env }, { command, settingsOfModules }, '')

t.test('--help of a process with the module shows its settings, and no other does', async (t) => {
  const { stdout } = await endOf(t, ['consumers', '--systems', path, '--help'])
  t.match(stdout, /Seats:\n {2}--hold-ms +Time that a seat is held \[default: 120000 ms\]\n {2}--receipts-url +URL that gets receipts/)
  t.match((await endOfMain(['demo', path, '--help'])).stdout, /--receipts-key/)
  t.notMatch((await endOfMain(['demo', 'sales', '--help', 'all'])).stdout, /--hold-ms/)
  const ofGateway = await settingsFor('gateway', [], { FRESHET_SYSTEMS: path })
  t.match(ofGateway, { holdMs: 120_000, plan: 'round' })
  t.notOk('receiptsKey' in ofGateway, 'only those that the gateway uses')
})

t.test('all faults are reported at once, those of Freshet too', async (t) => {
  const given = ['--hold-ms', '5', '--receipts-key', 'k-1', '--seat-row', 'A', '--deadline-ms', '1', '--hold', '6']
  const { faults } = await settingsFor('consumers', ['--systems', path, ...given], { SEATS_PLAN: 'oval' }).catch((error) => error)
  t.match(faults, [
    /^deadlineMs: 1 \(--deadline-ms\)/,
    /^holdMs: 5 \(--hold-ms\); expected an integer from 1,000 to 600,000$/,
    /^seatRow: A \(--seat-row\); expected letters$/,
    /^plan: oval \(SEATS_PLAN\); expected round \| square$/,
    /^receiptsKey: \(hidden\) \(--receipts-key\); expected together with --receipts-url$/,
    /^--hold is unknown; did you mean --hold-ms/
  ])
  t.equal(faults.length, 6)
  await t.rejects(settingsFor('gateway', ['--hold-ms', '5000']), { message: /--hold-ms is unknown/ }, 'without the module there is no such flag')
  await t.rejects(settingsFor('gateway', ['--systems', './none.js']), { message: /systems: \.\/none\.js cannot be loaded/ })
})

t.test('a name that is taken, and wrong settings, are refused with the reasons', async (t) => {
  const taken = SETTINGS.map(({ name }) => name)
  const other = await moduleOf('other', "settings: { tiers: { description: 'x' }, holdMs: { description: 'y' } }")
  const error = await settingsOfModules([path, other, 'sales'], taken).catch((error) => error)
  t.type(error, SettingsInvalid)
  t.match(error.faults, [/the setting tiers of other is taken/, /the setting holdMs of other is taken/])
  t.same((await settingsOfModules(['all', 'sales'], taken)), [], 'those of Freshet are known')

  const wrong = await moduleOf('wrong', `settings: {
    'hold-ms': { description: 'x' }, a: 5, b: { type: 'text', description: '' }, c: { description: 'x', read: () => 1, uses: 'gateway' },
    d: { description: 'x', min: 5, minimum: '5', fits: 1, enum: [] }
  }`)
  const { faults } = await loadSystems([wrong]).catch((error) => error)
  for (const fault of [/settings: 'hold-ms'; expected a-z first/, /settings\.a: 5; expected an object/, /settings\.b\.type: 'text'; expected string \|/,
    /settings\.b\.description: ''/, /settings\.c\.expects: undefined/, /settings\.c\.uses: 'gateway'/, /settings\.d: 'min'; expected description/,
    /settings\.d\.minimum: '5'/, /settings\.d\.fits: 1; expected a function/, /settings\.d\.enum: /]) t.ok(faults.some((/** @type {string} */ one) => fault.test(one)), String(fault))
})

t.test('the settings of our systems come from their definitions', async (t) => {
  const systems = await loadSystems()
  const names = systems.flatMap(({ settings = {} }) => Object.keys(settings))
  t.ok(names.includes('tiers') && names.includes('paymentUrl') && names.includes('saleTokenKey'))
  t.same(names.filter((name) => !SETTINGS.some((row) => row.name === name)), [])
  t.match(resolve(['--tiers', 'hot=1/2/3,medium=4/5/6,cold=7/8/9'], {}, { command: 'gateway', layouts: [], acks: [] }), {
    tiers: 'hot=1/2/3,medium=4/5/6,cold=7/8/9', orderDeadlineMs: 60_000, saleTokenKey: null
  })
})
