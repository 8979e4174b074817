/** What the README says is what happens: its scripts exist, and its examples print what it shows. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { startGateway, startReader } from '../commands.js'
import { startDeployment, testEngines } from '../servers.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)
const text = await readFile(new URL('../../README.md', import.meta.url), 'utf8')

/** @param {string} name @returns {{ write: string, summary: any, ask: string, answer: any }} the two commands behind its mark, with what they printed */
function example (name) {
  const blocks = text.slice(text.indexOf(`<!-- example: ${name} -->`)).match(/```\n[\s\S]*?\n```/g).slice(0, 4).map((block) => block.slice(4, -4))
  return { write: blocks[0], summary: JSON.parse(blocks[1]), ask: blocks[2], answer: JSON.parse(blocks[3]) }
}

t.test('scripts, commands and files that the README names exist', async (t) => {
  const { scripts } = JSON.parse(await readFile(new URL('../../package.json', import.meta.url), 'utf8'))
  for (const [, name] of text.matchAll(/npm (?:run )?(start|test|lint|experiment|charts)\b/g)) t.ok(scripts[name], `npm ${name}`)
  const { stdout } = await run('node', ['bin/freshet.js', '--help'], { cwd: ROOT })
  for (const [, name] of text.matchAll(/npm start (?:-s )?([a-z]+)/g)) t.match(stdout, new RegExp(`npm start ${name}\\b`), name)
  for (const [, file] of text.matchAll(/\]\(([^)#:]+)\)/g)) await t.resolves(access(new URL(`../../${file}`, import.meta.url)), file)
})

t.test('the examples with real files print what the README shows', async (t) => {
  const [engine] = await testEngines()
  const { primary } = await startDeployment(t, { engine, replicas: 1 })
  const env = { ...process.env, FRESHET_REDIS_URL: primary.url, FRESHET_PORT: '0' }
  const reader = spawn('node', ['bin/freshet.js', 'reader'], { cwd: ROOT, env, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  t.teardown(() => reader.kill('SIGKILL'))
  reader.stderr.resume()
  const [{ url }] = await once(reader, 'message')

  for (const name of ['weather', 'quakes']) {
    const { write, summary, ask, answer } = example(name)
    const { stdout } = await run('bash', ['-c', write], { cwd: ROOT, env })
    const printed = JSON.parse(stdout)
    for (const field of ['event', 'role', 'feed', 'layout', 'writers', 'offered', 'items', 'refused', 'dropped', 'failed', 'bytes']) {
      t.same(printed[field], summary[field], `${name}: ${field}`)
    }
    t.same(Object.keys(printed), Object.keys(summary))
    const asked = await fetch(ask.match(/'(.*)'/)[1].replace('http://127.0.0.1:8080', url))
    t.same({ ...await asked.json(), asOf: 0 }, { ...answer, asOf: 0 }, `${name}: the answer`)
  }
})

t.test('the example with items over HTTP prints what the README shows', async (t) => {
  const [engine] = await testEngines()
  const { primary } = await startDeployment(t, { engine, replicas: 0 })
  const [gateway, reader] = await Promise.all([
    startGateway(t, { redisUrl: primary.url }), startReader(t, { redisUrl: primary.url, flags: ['--read-from', 'primary'] })])
  const { write, summary, ask, answer } = example('positions')
  const { stdout } = await run('bash', ['-c', write.replace('curl', 'curl -s').replace('http://127.0.0.1:8081', gateway.url)])
  t.same(JSON.parse(stdout), summary)
  const { json } = await reader.ask(ask.match(/127\.0\.0\.1:8080(.*)'/)[1])
  const timeless = ({ asOf, items, ...rest }) => ({ ...rest, items: items.map(({ ts, ...item }) => item) })
  t.same(timeless(json), timeless(answer))
})
