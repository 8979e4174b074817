/**
 * The commands of containers in compose and Kubernetes files are accepted by the settings, and flags of the CDK app are flags. What it
 * synthesizes: regression/infra/aws.test.js, at night.
 */
import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'
import { flagOf, resolve, SETTINGS } from '../../settings.js'
import { TIERS } from '../../infra/aws/src/config.js'
import { loadSystems, SYSTEM_NAMES } from '../../src/systems/list.js'
import { ROOT } from '../architecture/source.js'

const BASE = `${ROOT}/infra/kubernetes/base/`
const FILES = [`${ROOT}/infra/docker/compose.yaml`, ...(await readdir(BASE)).map((name) => BASE + name)]
const COMMANDS = ['writer', 'reader', 'gateway', 'consumers']
const VALUES = /** @type {Record<string, string>} */ ({
  FRESHET_REDIS_URL: 'rediss://user@primary?iam=group',
  FRESHET_REDIS_AUTH: 'iam',
  FRESHET_REPLICA_URL: 'rediss://user@replica?iam=group',
  FRESHET_DATABASE_URL: 'postgres://user:password@host/name'
})

t.test('every command, with the variables beside it', async (t) => {
  /** @type {string[]} */
  const found = []
  for (const file of FILES) {
    const text = await readFile(file, 'utf8')
    const variables = [...text.matchAll(/(?:name: |\{ )(FRESHET_\w+)/g)].map(([, name]) => name)
    for (const [, list] of text.matchAll(/(?:command|args): \[(.*)\]/g)) {
      const [command, ...flags] = list.split(', ').map((word) => word.replace(/^'|'$/g, ''))
      if (!COMMANDS.includes(command)) continue
      found.push(command)
      const env = Object.fromEntries(variables.map((name) => [name, VALUES[name]]))
      t.ok(resolve(flags, env, { command, layouts: ['ids'], acks: ['primary'] }), `${file}: ${list}`)
    }
  }
  t.same(found.sort(), ['consumers', 'consumers', 'gateway', 'gateway', 'reader', 'reader', 'writer', 'writer'])
})

t.test('systems of the tiers are those of the list, with the database that they need', async (t) => {
  for (const [name, { services, database }] of Object.entries(TIERS)) {
    const { systems } = services.consumers
    t.same(systems.filter((one) => !SYSTEM_NAMES.includes(one)), [], name)
    const needed = (await loadSystems(systems)).some(({ needsDatabase }) => needsDatabase)
    t.ok(database !== null || !needed, name)
  }
})

t.test('flags of the CDK app', async (t) => {
  const flags = SETTINGS.map(({ name }) => `--${flagOf(name)}`)
  for (const file of ['config.js', 'services.js']) {
    const text = await readFile(`${ROOT}/infra/aws/src/${file}`, 'utf8')
    const found = [...text.matchAll(/'(--[a-z-]+)'/g)].map(([, flag]) => flag)
    t.ok(found.length > 0, file)
    t.same(found.filter((flag) => !flags.includes(flag)), [], file)
  }
})
