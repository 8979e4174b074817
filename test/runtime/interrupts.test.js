/** Ctrl-C twice ends a process at once, also one that hangs. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const LIFECYCLE = fileURLToPath(new URL('../../src/runtime/lifecycle.js', import.meta.url))

/** A process that never stops by itself; it writes a character when it is up, and one for each SIGINT. @param {import('tap').Test} t */
function start (t, env = {}) {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', `
    import { writeSync } from 'node:fs'
    import { listenForStop } from ${JSON.stringify(LIFECYCLE)}
    process.on('SIGINT', () => writeSync(1, 'i'))
    listenForStop()
    setInterval(() => {}, 1000)
    // the clock stands still: however slow the machine is, the second signal comes within a second
    const now = Date.now()
    Date.now = () => now
    writeSync(1, 'u')`], { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: process.env.PATH, ...env } })
  t.teardown(() => child.kill('SIGKILL'))
  const written = () => once(/** @type {import('node:stream').Readable} */ (child.stdout), 'data')
  const interrupt = () => {
    const received = written()
    child.kill('SIGINT')
    return received
  }
  return { exited: once(child, 'exit'), written, interrupt }
}

t.test('the second Ctrl-C ends it, although the first was a moment ago', async (t) => {
  const { exited, written, interrupt } = start(t)
  await written()
  await interrupt()
  interrupt()
  t.same(await exited, [1, null])
})

t.test('below npm, which sends each Ctrl-C again, the copy does not', async (t) => {
  const { exited, written, interrupt } = start(t, { npm_lifecycle_event: 'start' })
  await written()
  await interrupt()
  await interrupt()
  interrupt()
  t.same(await exited, [1, null])
})
