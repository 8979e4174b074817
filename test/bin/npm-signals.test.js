/** A signal to npm reaches the command, although npm starts the command in a shell, which does not forward signals. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import { ROOT } from '../architecture/source.js'
import { descendantsOf, stillThere } from '../lab/lab-checkout.js'
import { connectFor, eventually, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const [engine] = await scopedEngines()

t.test('a supervisor that ends npm ends the command, which flushes what it took', async (t) => {
  const server = await startServer(t, { engine })
  const npm = spawn('npm', ['start', '--silent', 'writer', '--', '--redis-url', server.url, '--read-from', 'primary', '--rate', '100'],
    { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NODE_OPTIONS: '' } })
  let stdout = ''
  npm.stdout.on('data', (chunk) => { stdout += chunk })
  npm.stderr.resume()
  const ended = once(npm, 'close')
  const connection = await connectFor(t, server.url)
  await eventually(async () => await connection.send('ZCARD', 'fr:{latest:0}:ids') > 0)
  const running = await descendantsOf(Number(npm.pid))
  t.teardown(() => { for (const { pid } of running) try { process.kill(pid, 'SIGKILL') } catch { /* it is gone */ } })
  t.ok(running.some(({ args }) => /freshet\.js writer/.test(args)))
  npm.kill('SIGTERM')
  await ended
  await eventually(async () => (await stillThere(running)).length === 0)
  const { offered, items, failed } = JSON.parse(stdout)
  t.ok(offered > 0 && items === offered && failed === 0, stdout)
})
