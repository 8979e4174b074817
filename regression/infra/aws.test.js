/** The CDK app, a package of its own: every tier is synthesized, and cdk-nag finds nothing that is not explained. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { wholeTest } from '../../test/scope.js'

const run = promisify(execFile)
const cwd = fileURLToPath(new URL('../../infra/aws', import.meta.url))

wholeTest('infra/aws: npm ci, npm test', async (t) => {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => name !== 'NODE_OPTIONS'))
  await run('npm', ['ci', '--no-audit', '--no-fund'], { cwd, env })
  const { stdout, code = 0 } = await run('npm', ['test'], { cwd, env }).catch((error) => error)
  t.equal(code, 0, stdout)
})
