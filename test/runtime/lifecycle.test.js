/** Stop requests of all kinds, in any order. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'

const LIFECYCLE = fileURLToPath(new URL('../../src/runtime/lifecycle.js', import.meta.url))

/** @param {import('tap').Test} t @param {string} rest what the process does after a stop request */
async function start (t, rest) {
  const folder = t.testdir({
    'process.mjs': `
      import { aborted, listenForStop } from ${JSON.stringify(LIFECYCLE)}
      const stopping = listenForStop()
      process.send('up')
      await aborted(stopping.signal)
      ${rest}`
  })
  const child = fork(join(folder, 'process.mjs'), { execArgv: [], env: { ...process.env, NODE_OPTIONS: '' } })
  t.teardown(() => { child.kill('SIGKILL') })
  await once(child, 'message')
  return child
}

t.test('a signal that comes behind the word of the parent does not kill a process that has ended well', async (t) => {
  const child = await start(t, "stopping.done(); process.kill(process.pid, 'SIGINT'); setTimeout(() => { process.exitCode = 0 }, 100)")
  child.send({ event: 'stop' })
  t.same(await once(child, 'exit'), [0, null])
})

t.test('without a stop request, a signal ends the process again after done()', async (t) => {
  const folder = t.testdir({
    'process.mjs': `import { listenForStop } from ${JSON.stringify(LIFECYCLE)}\nlistenForStop().done()\nprocess.kill(process.pid, ` +
      "'SIGTERM')\nsetTimeout(() => {}, 20_000)"
  })
  const child = fork(join(folder, 'process.mjs'), { execArgv: [], env: { ...process.env, NODE_OPTIONS: '' } })
  t.same(await once(child, 'exit'), [null, 'SIGTERM'])
})

t.test('a Ctrl-C that arrives from the terminal and from the parent counts once', async (t) => {
  const child = await start(t, "process.send('stopping'); setTimeout(() => { stopping.done() }, 300)")
  child.send({ event: 'stop', reason: 'SIGINT' })
  await once(child, 'message')
  child.kill('SIGINT')
  t.same(await once(child, 'exit'), [0, null])
})

t.test('a process whose parent was killed while it started stops at once', async (t) => {
  const folder = t.testdir({
    'process.mjs': `
      import { once } from 'node:events'
      import { listenForStop } from ${JSON.stringify(LIFECYCLE)}
      process.send('up')
      if (process.connected) await once(process, 'disconnect')
      process.stdout.write(String(listenForStop().signal.reason))`
  })
  const child = fork(join(folder, 'process.mjs'), { execArgv: [], env: { ...process.env, NODE_OPTIONS: '' }, silent: true })
  t.teardown(() => { child.kill('SIGKILL') })
  await once(child, 'message')
  child.disconnect()
  const [said] = await once(/** @type {import('node:stream').Readable} */ (child.stdout), 'data')
  t.equal(String(said), 'parent gone')
})
