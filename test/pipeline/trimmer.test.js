import t from 'tap'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { connectFor, engineName, eventually, openWriterFor, startServer } from '../servers.js'
import { nightEngines, scopedEngines } from '../scope.js'

const LEASE = 'fr:{latest:0}:trimmer'
const RETENTION = { windowMs: 60_000, maxItems: 10 }

/** @param {import('tap').Test} t @param {Awaited<ReturnType<typeof openWriterFor>>} writer */
function keepAppending (t, writer) {
  let n = 0
  const timer = setInterval(() => {
    for (let i = 0; i < 20; i++) writer.pipeline.append(Buffer.from(`${process.hrtime.bigint()}-${n++}`), Date.now(), Buffer.from('v'))
  }, 20)
  t.teardown(() => clearInterval(timer))
  return () => clearInterval(timer)
}

t.jobs = 2
const once = (await nightEngines()).map(engineName)
for (const engine of await scopedEngines()) {
  t.test(engineName(engine), { buffered: true }, async (t) => {
    const server = await startServer(t, { engine })
    const connection = await connectFor(t, server.url)
    // a holder is its name and a unique part
    const holder = async () => String(await connection.send('GET', LEASE)).replace(/-[0-9a-f-]{36}$/, '')

    await t.test('of two writers one trims; when it closes, the other', async (t) => {
      const first = await openWriterFor(t, { redisUrl: server.url, name: 'first', ...RETENTION })
      const stopFirst = keepAppending(t, first)
      await eventually(() => first.trimmed > 0)
      const second = await openWriterFor(t, { redisUrl: server.url, name: 'second', ...RETENTION })
      const stopSecond = keepAppending(t, second)
      const { trimmed } = first
      await eventually(() => second.pipeline.account.items > 3000 && first.trimmed > trimmed + 500)
      t.equal(await holder(), 'first')
      t.equal(second.trimmed, 0)
      stopFirst()
      await first.close({ drainMs: 20_000 })
      await eventually(() => second.trimmed > 0)
      t.equal(await holder(), 'second')
      stopSecond()
      await second.close({ drainMs: 20_000 })
      t.equal(await connection.send('EXISTS', LEASE), 0, 'the lease is given back')
    })

    // the lease itself is that of the test above
    if (!once.includes(engineName(engine))) return
    await t.test('when the one that trims is killed, another takes over', async (t) => {
      const child = spawn(process.execPath, [fileURLToPath(new URL('writing-process.js', import.meta.url)), server.url],
        { stdio: ['ignore', 'ignore', 'inherit'] })
      t.teardown(() => child.kill('SIGKILL'))
      await eventually(async () => await holder() === 'child')
      const writer = await openWriterFor(t, { redisUrl: server.url, name: 'heir', ...RETENTION })
      const stop = keepAppending(t, writer)
      child.kill('SIGKILL')
      await eventually(async () => await holder() === 'heir')
      await eventually(() => writer.trimmed > 0)
      stop()
      await writer.close({ drainMs: 20_000 })
    })
  })
}
