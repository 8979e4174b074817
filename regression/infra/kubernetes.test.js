/** Every tier, as kubectl renders it, has only fields that Kubernetes knows. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installPython } from '../../test/python.js'
import { ROOT } from '../../test/architecture/source.js'
import { nightTest } from '../../test/scope.js'

const VERSION = '1.37.0'
const run = promisify(execFile)
const hasKubectl = await run('kubectl', ['version', '--client']).then(() => true, () => false)

nightTest('small, medium, large', { skip: hasKubectl ? false : 'kubectl is not here' }, async (t) => {
  const PYTHONPATH = await installPython(`kubernetes-validate-${VERSION}`, [`kubernetes-validate==${VERSION}`])
  const folder = await mkdtemp(join(tmpdir(), 'freshet-kubernetes-'))
  t.teardown(() => rm(folder, { recursive: true }))
  const files = await Promise.all(['small', 'medium', 'large'].map(async (tier) => {
    const { stdout } = await run('kubectl', ['kustomize', `${ROOT}/infra/kubernetes/${tier}`])
    t.ok(stdout.split('\n---\n').length > 10, tier)
    const file = join(folder, `${tier}.yaml`)
    await writeFile(file, stdout)
    return file
  }))
  const { code = 0, stderr = '' } = await run('python3', [`${PYTHONPATH}/bin/kubernetes-validate`, '--strict', '-k', '1.37', ...files],
    { env: { ...process.env, PYTHONPATH } }).catch((error) => error)
  t.equal(code, 0, stderr)
})
