/**
 * An HTTP proxy in front of the embedded DynamoDB on which things go wrong that the embedded one never does: rows left unprocessed,
 * throttling, errors, delays.
 *
 * @typedef {{ operation: string, body: any }} Asked `operation`: such as BatchWriteItem
 * @typedef {{ error: [status: number, type: string] } | { leave: number } | { delayMs: number }} Fault `leave`: the last rows or
 *   keys of a batch are not passed on
 */
import { once } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

/** @param {import('tap').Test} t @param {string} url of the DynamoDB behind it */
export async function startFaultyDynamodb (t, url) {
  /** @type {Asked[]} */
  const asked = []
  /** @type {(asked: Asked) => Fault | null} */
  let faultOf = () => null

  /** @param {import('node:http').IncomingMessage} request @param {import('node:http').ServerResponse} response */
  async function answer (request, response) {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    const one = { operation: String(request.headers['x-amz-target']).split('.')[1], body: JSON.parse(String(Buffer.concat(chunks))) }
    asked.push(one)
    const fault = faultOf(one)
    /** @param {number} status @param {unknown} body */
    const reply = (status, body) => response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body))
    if (fault && 'error' in fault) return reply(fault.error[0], { __type: `com.amazonaws.dynamodb.v20120810#${fault.error[1]}` })
    if (fault && 'delayMs' in fault) await pause(fault.delayMs, undefined, { ref: false })
    const left = fault && 'leave' in fault ? cut(one.body.RequestItems ?? {}, fault.leave) : {}
    const { host: _host, 'content-length': _length, ...headers } = request.headers
    const isEmpty = Object.keys(left).length > 0 && Object.keys(one.body.RequestItems).length === 0
    const passed = isEmpty
      ? null
      : await fetch(url, { method: 'POST', headers: /** @type {any} */ (headers), body: JSON.stringify(one.body) })
    const body = passed ? JSON.parse(await passed.text()) : {}
    if (Object.keys(left).length > 0) body[one.operation === 'BatchGetItem' ? 'UnprocessedKeys' : 'UnprocessedItems'] = left
    reply(passed?.status ?? 200, body)
  }

  const server = createServer((request, response) => { answer(request, response).catch(() => response.destroy()) })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    /** From now on. @param {(asked: Asked) => Fault | null} choose */
    fail (choose) {
      asked.length = 0
      faultOf = choose
    }
  }
}

/** Takes the last rows or keys out of a batch. @param {any} items by table @param {number} count @returns {any} what was taken */
function cut (items, count) {
  /** @type {any} */
  const left = {}
  for (const [table, batch] of Object.entries(items)) {
    const list = Array.isArray(batch) ? batch : batch.Keys
    const taken = list.splice(Math.max(0, list.length - count))
    if (taken.length > 0) left[table] = Array.isArray(batch) ? taken : { ...batch, Keys: taken }
    if (list.length === 0) delete items[table]
  }
  return left
}
