/** A batch above a limit of the server: it ends each connection, and the writer says so until the limit is raised. */
import t from 'tap'
import { connectFor, engineName, eventually, openWriterFor, silentLog, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const VALUE_BYTES = 500_000

for (const engine of (await scopedEngines()).slice(0, 1)) {
  t.test(`${engineName(engine)}: a batch above the server's own limit is named, counted, and stored once it may`, async (t) => {
    const server = await startServer(t, { engine, args: ['--proto-max-bulk-len', '1mb'] })
    const logged = /** @type {string[]} */ ([])
    const log = /** @type {any} */ ({ ...silentLog, warn: (/** @type {any[]} */ ...args) => { logged.push(String(args.at(-1))) } })
    const writer = await openWriterFor(t, { redisUrl: server.url, layout: 'segments', batchBytes: 4 * 1024 * 1024, log })
    for (const id of ['a', 'b', 'c']) writer.pipeline.append(Buffer.from(id), Date.now(), Buffer.alloc(VALUE_BYTES, id))
    const named = /the same batch ended \d+ connections in a row \(closed by the server: ERR Protocol error: invalid bulk length\)/
    await eventually(() => writer.status().reasons.some((reason) => named.test(reason)))
    t.equal(writer.status().ready, false)
    t.ok(writer.pipeline.account.blocked > 0)
    t.ok(logged.some((line) => named.test(line) && line.includes('proto-max-bulk-len')))
    await (await connectFor(t, server.url)).send('CONFIG', 'SET', 'proto-max-bulk-len', '512mb')
    await writer.pipeline.flush({ deadlineMs: 60_000 })
    await eventually(() => writer.status().ready)
    t.match(writer.pipeline.account, { offered: 3, items: 3, failed: 0 })
  })
}
