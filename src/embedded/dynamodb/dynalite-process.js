/**
 * The process of the embedded DynamoDB. It sends its port, and ends when the channel to its parent closes, however that ends.
 */
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { isLocalRequest, REFUSED } from '../local-requests.js'

const [folder] = process.argv.slice(2)
const dynalite = createRequire(join(folder, 'package.json'))('dynalite')

process.once('disconnect', () => process.exit())
const server = dynalite({ createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 })
// it allows every origin, as the real one does
const [answer] = server.listeners('request')
server.removeListener('request', answer)
server.on('request', (/** @type {any} */ request, /** @type {any} */ response) =>
  isLocalRequest(request.headers) ? answer(request, response) : response.writeHead(403).end(REFUSED))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.send?.({ port: server.address().port })
