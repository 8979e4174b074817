/**
 * The CDK app, a package of its own: every tier is synthesized, cdk-nag finds nothing that is not explained, and the settings accept the
 * commands of its containers.
 */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { resolve } from '../../settings.js'
import { nightTest } from '../../test/scope.js'

const run = promisify(execFile)
const cwd = fileURLToPath(new URL('../../infra/aws', import.meta.url))
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'NODE_OPTIONS'))
const SERVER = 'redis://primary'
const URLS = /** @type {Record<string, string>} */ ({
  FRESHET_REDIS_URL: SERVER, FRESHET_TARGET: SERVER, FRESHET_REPLICA_URL: SERVER, FRESHET_DATABASE_URL: 'postgres://user:password@host/name'
})
/** what is known when it is deployed */
const textOf = (/** @type {unknown} */ word) => typeof word === 'string' ? word : 'freshet'

nightTest('infra/aws', async (t) => {
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd, env })
  const { stdout, code = 0 } = await run('npm', ['test'], { cwd, env }).catch((error) => error)
  t.equal(code, 0, 'npm test')
  if (code !== 0) t.comment(stdout)

  const { createApp } = await import(`${cwd}/src/app.js`)
  for (const tier of ['small', 'medium', 'large']) {
    const { app, stack } = createApp({ tier, image: 'freshet:1' })
    const { Resources } = app.synth().getStackArtifact(stack.artifactId).template
    const tasks = Object.values(Resources).filter(({ Type }) => Type === 'AWS::ECS::TaskDefinition')
    for (const { Properties: { ContainerDefinitions: [{ Name, Command, Secrets, Environment = [] }] } } of tasks) {
      const [command, ...flags] = Command.map(textOf)
      const variables = Object.fromEntries([...Secrets, ...Environment].map(({ Name, Value }) => [Name, Value ?? URLS[Name]]))
      t.ok(resolve(flags, variables, { command, layouts: ['ids'], acks: ['primary'], positionals: 2 }), `${tier}: ${Name}`)
    }
    t.equal(tasks.length, tier === 'large' ? 4 : 5, 'the lab is not for clusters')
  }
})
