import { execFile, spawn } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { createGuard } from '../../src/embedded/server-process.js'
import { isRunning, until } from './checkout.js'

const GUARD = new URL('../../src/embedded/server-process.js', import.meta.url).href

/** A process that does nothing. @param {import('tap').Test} t */
function bystander (t) {
  const child = spawn('sleep', ['600'], { stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  return /** @type {number} */ (child.pid)
}

/** Runs `script` in a process with a guard. @param {string} script */
const inProcess = (script) => new Promise((resolve) => {
  const program = `import { createGuard } from '${GUARD}'\nconst guard = createGuard()\n${script}`
  execFile(process.execPath, ['--input-type=module', '-e', program], { env: { PATH: process.env.PATH } }, resolve)
})

t.test('when the supervisor is killed, the processes watched last are killed', async (t) => {
  const [before, watched] = [bystander(t), bystander(t)]
  await inProcess(`guard.watch([${before}]); guard.watch([${watched}]); process.kill(process.pid, 'SIGKILL')`)
  await until(async () => !await isRunning(watched))
  t.ok(await isRunning(before))
})

t.test('nothing is killed after a release', async (t) => {
  const watched = bystander(t)
  await inProcess(`guard.watch([${watched}]); guard.release(); setTimeout(() => process.exit(), 200)`)
  await pause(300)
  t.ok(await isRunning(watched))
})

t.test('a killed guard is replaced, and the new one watches the same processes', async (t) => {
  const watched = bystander(t)
  await inProcess(`guard.watch([${watched}])
    const first = guard.pid()
    process.kill(first, 'SIGKILL')
    while (guard.pid() === first) await new Promise((resolve) => setTimeout(resolve, 10))
    process.kill(process.pid, 'SIGKILL')`)
  await until(async () => !await isRunning(watched))
  t.pass('it was killed')
})

t.test('a guard without watched processes is released at once', async (t) => {
  const guard = createGuard()
  guard.release()
  t.equal(guard.pid(), undefined)
})
