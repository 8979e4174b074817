/**
 * A writer that is only there to be killed: `node writing-process.js <url>`.
 */
import { openWriterFor } from '../servers.js'

const writer = await openWriterFor(/** @type {any} */ ({ teardown () {} }), { redisUrl: process.argv[2], name: 'child', maxItems: 10 })
setInterval(() => writer.pipeline.append(Buffer.from('a'), Date.now(), Buffer.from('v')), 20)
