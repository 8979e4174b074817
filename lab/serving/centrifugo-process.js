/**
 * Centrifugo (https://centrifugal.dev), and what publishes to it: messages of a constant size at a constant pace, through its HTTP API,
 * to one channel that all clients are subscribed to. Its broker is the primary. The processor time that this process reports is that of
 * Centrifugo alone, as the writer of a feed is not counted for a reader.
 *
 *     publisher -> POST /api/publish -> Centrifugo -> PUBLISH on the primary -> Centrifugo -> clients (/connection/uni_sse)
 *
 * Messages as those of serve-process.js.
 */
import { spawn } from 'node:child_process'
import { createHmac, randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../src/embedded/index.js'
import { tellParent } from '../../src/runtime/index.js'
import { usageOfProcess } from '../servers/process-tree.js'
import { serveParent } from './child-process.js'
import { constantItems } from './constant-stream.js'
import { openLine } from './line.js'
import { requestOnce } from './request.js'
import { reportUsageOf } from './tell-usage.js'

const UP_WITHIN_MS = 10_000
const POLL_MS = 50
const CHANNEL = 'lab'
const secret = randomBytes(16).toString('hex')
let url = ''
/** @type {NodeJS.Timeout | undefined} */
let timer

serveParent('loaded', { start, constant: publish, stop: () => process.exit(0) })

/** @param {{ urls: string[] }} order `urls`: of the primary */
async function start ({ urls: [redisUrl] }) {
  // Centrifugo does not say which port it chose
  const port = await freePort()
  const child = spawn('centrifugo', [], { stdio: 'ignore', env: { ...process.env, ...settingsOf(redisUrl, port) } })
  child.once('exit', (code) => { throw new Error(`centrifugo ended with code ${code}`) })
  process.once('exit', () => child.kill('SIGKILL'))
  reportUsageOf(async () => ({ atMs: performance.now(), loopBusyMs: 0, ...await usageOfProcess(Number(child.pid)) }))
  url = `http://127.0.0.1:${port}`
  const untilMs = performance.now() + UP_WITHIN_MS
  while ((await requestOnce(`${url}/health`)).status !== 200) {
    if (performance.now() > untilMs) throw new Error(`centrifugo did not answer on ${url}/health within ${UP_WITHIN_MS} ms`)
    await pause(POLL_MS)
  }
  const connect = JSON.stringify({ token: tokenOf({ sub: 'lab', channels: [CHANNEL] }) })
  await tellParent({ event: 'up', url: `${url}/connection/uni_sse?cf_connect=${encodeURIComponent(connect)}` })
}

/** @param {{ stream: import('./constant-stream.js').Shape }} order */
async function publish ({ stream: { everyMs, ...shape } }) {
  const message = constantItems(shape, (data) => `{"channel":"${CHANNEL}","data":${data}}`)
  const head = `POST /api/publish HTTP/1.1\r\nhost: lab\r\ncontent-type: application/json\r\ncontent-length: ${message.bytes}\r\n\r\n`
  const line = openLine(new URL(url))
  await line.opened
  timer = setInterval(async () => {
    const { status, body } = await line.send(head + message.at(Date.now()))
    if (status === 200 && !body.error) return
    clearInterval(timer)
    throw new Error(`centrifugo refused a message: status ${status}, ${JSON.stringify(body)}`)
  }, everyMs)
  // what surrounds the data is Centrifugo's
  await tellParent({ event: 'constant', bytes: null })
}

/** @param {string} redisUrl @param {number} port @see https://centrifugal.dev/docs/server/configuration */
const settingsOf = (redisUrl, port) => ({
  CENTRIFUGO_HTTP_SERVER_ADDRESS: '127.0.0.1',
  CENTRIFUGO_HTTP_SERVER_PORT: String(port),
  CENTRIFUGO_HTTP_API_INSECURE: 'true',
  CENTRIFUGO_HEALTH_ENABLED: 'true',
  CENTRIFUGO_LOG_LEVEL: 'error',
  CENTRIFUGO_USAGE_STATS_DISABLED: 'true',
  CENTRIFUGO_UNI_SSE_ENABLED: 'true',
  CENTRIFUGO_CLIENT_TOKEN_HMAC_SECRET_KEY: secret,
  CENTRIFUGO_ENGINE_TYPE: 'redis',
  CENTRIFUGO_ENGINE_REDIS_ADDRESS: redisUrl
})

/** @param {object} claims @returns {string} JSON Web Token (RFC 7519) that subscribes a client */
function tokenOf (claims) {
  const text = [{ alg: 'HS256', typ: 'JWT' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}
