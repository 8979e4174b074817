/** The workflows of .github: what they run exists, with the least rights, and on the supported versions of Node.js. */
import { readdir, readFile } from 'node:fs/promises'
import t from 'tap'

const read = (/** @type {string} */ path) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')
const { scripts, engines } = JSON.parse(await read('package.json'))
const names = await readdir(new URL('../../.github/workflows', import.meta.url))

t.test('scripts that workflows run exist, actions are pinned, and no job has a right that it does not name', async (t) => {
  t.same(names.sort(), ['ci.yml', 'release.yml'])
  for (const name of names) {
    const text = await read(`.github/workflows/${name}`)
    for (const [, script] of text.matchAll(/npm run ([a-z:]+)/g)) t.ok(scripts[script], `${name}: npm run ${script}`)
    for (const [, action] of text.matchAll(/uses: (\S+)/g)) t.match(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40}$/, `${name}: ${action}`)
    t.match(text, /^permissions: \{\}$/m, name)
    const jobs = text.slice(text.indexOf('\njobs:')).match(/^ {2}\w+:$/gm) ?? []
    t.equal(text.match(/^ {4}permissions:$/gm)?.length, jobs.length, `${name}: each job says its rights`)
    t.equal(text.match(/^ {4}timeout-minutes: \d+$/gm)?.length, jobs.length, `${name}: each job ends`)
    t.notMatch(text, /secrets\./, `${name}: no secrets`)
  }
})

t.test('tests run on the minimum of Node.js and on the versions with long-term support above it', async (t) => {
  const [, versions] = /node: \[(.*)\]/.exec(await read('.github/workflows/ci.yml')) ?? []
  t.same(versions.split(', ').map(Number), [20, 22, 24])
  t.match(engines.node, /^>=20\./)
})

t.test('a release publishes both packages with provenance, behind lint and tests', async (t) => {
  const text = await read('.github/workflows/release.yml')
  const steps = [...text.matchAll(/- run: (.*)$/gm)].map(([, command]) => command)
  t.same(steps.filter((step) => /^npm (run|test|publish)/.test(step)), ['npm run lint', 'npm test', 'npm run client-package -- client-package',
    'npm publish --provenance --access public', 'npm publish --provenance --access public ./client-package'])
  t.match(text, /id-token: write/)
})
