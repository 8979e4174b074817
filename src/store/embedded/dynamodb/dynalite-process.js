/**
 * The process of the embedded DynamoDB. It sends its port, and ends when the channel to its parent closes, however that ends.
 */
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'

const [folder] = process.argv.slice(2)
const dynalite = createRequire(join(folder, 'package.json'))('dynalite')

process.once('disconnect', () => process.exit())
const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 }).listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.({ port: server.address().port })
