/** moto, a server that answers as AWS does, without an account, on a port of its own. */
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { createInterface } from 'node:readline'
import { installPython } from '../python.js'

const PACKAGES = Object.freeze(['moto==5.2.5', 'flask', 'flask-cors', 'py-partiql-parser'])
/** what SDKs sign with; nobody checks it */
const CREDENTIALS = Object.freeze({ AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_REGION: 'eu-west-1' })

/**
 * @param {import('tap').Test} t
 * @returns {Promise<{ env: Record<string, string>, throttle: (calls: number) => void,
 *   rewrite: (change: (text: string) => string) => void, calls: () => number }>} `env` of a process that asks it, which is set here too;
 *   `throttle`: so many calls are refused; `rewrite`: replies are changed
 */
export async function startMoto (t) {
  const python = spawn('python3', ['-m', 'moto.server', '-H', '127.0.0.1', '-p', '0'], {
    env: { ...process.env, PYTHONPATH: await installPython('moto-5.2.5', PACKAGES) }, stdio: ['ignore', 'ignore', 'pipe']
  })
  t.teardown(() => { python.kill() })
  const url = await /** @type {Promise<string>} */ (new Promise((resolve, reject) => {
    createInterface({ input: python.stderr }).on('line', (line) => {
      const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(line) ?? []
      if (found) resolve(found)
    })
    python.once('exit', (status) => reject(new Error(`moto ended with status ${status}`)))
  }))
  let [refused, calls] = [0, 0]
  let change = (/** @type {string} */ text) => text
  const server = createServer(async (request, response) => {
    calls++
    if (refused > 0) {
      refused--
      response.writeHead(429).end()
      return
    }
    const body = await request.toArray()
    const { host: _, 'accept-encoding': __, ...headers } = request.headers
    const reply = await fetch(url + request.url, {
      method: request.method, headers: /** @type {any} */ (headers), body: body.length > 0 ? Buffer.concat(body) : undefined
    })
    const text = change(Buffer.from(await reply.arrayBuffer()).toString('latin1'))
    response.writeHead(reply.status, { 'content-type': reply.headers.get('content-type') ?? 'text/xml' }).end(text, 'latin1')
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(null)))
  t.teardown(() => { server.closeAllConnections(); server.close() })
  const env = { ...CREDENTIALS, AWS_ENDPOINT_URL: `http://127.0.0.1:${/** @type {any} */ (server.address()).port}` }
  Object.assign(process.env, env)
  t.teardown(() => { for (const name of Object.keys(env)) delete process.env[name] })
  return {
    env,
    throttle: (n) => { refused = n },
    rewrite: (other) => { change = other },
    calls: () => calls
  }
}
