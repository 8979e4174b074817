/** A reader and a gateway over one real server, in this process, guarded as a test wants; and the routes that fastify knows of them. */
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createReaderApp } from '../../readers/app.js'
import { openSecurity } from '../../src/http/index.js'
import { insideOfFeed, insideOfReader } from '../../src/inside.js'
import { openFeed, openReader } from '../../src/index.js'
import { createReaderRegistry, createWriterMetrics } from '../../src/metrics/index.js'
import { createGatewayApp } from '../../writers/gateway/app.js'
import { createFeeds } from '../../writers/gateway/feeds.js'
import { silentLog, startServer, testEngines } from '../servers.js'

const OPEN = { tokens: null, jwtIssuer: null, jwtAudience: null, jwtKeys: null, tlsCert: null, corsOrigin: null, rateLimit: null }

/** @param {import('tap').Test} t @param {Record<string, any>} settings */
export async function openSecurityFor (t, settings) {
  const security = await openSecurity({ ...OPEN, ...settings }, { log: silentLog })
  t.teardown(() => security.close())
  return security
}

/** @param {import('tap').Test} t */
export async function folderFor (t) {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-test-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** @typedef {{ token: string, scopes: string[], feeds: string[] }} Row */

/** @param {import('tap').Test} t @param {Row[]} rows */
export async function tokenFileFor (t, rows) {
  const file = join(await folderFor(t), 'tokens')
  /** @param {Row[]} rows */
  const write = async (rows) => {
    await writeFile(`${file}.new`, rows.map((row) => JSON.stringify(row) + '\n').join(''), { mode: 0o600 })
    await rename(`${file}.new`, file)
  }
  await write(rows)
  return { file, write }
}

/** @param {string} [token] @returns {Record<string, string>} */
export const bearer = (token) => token === undefined ? {} : { authorization: `Bearer ${token}` }

/** Adds each route of an app whose plugins are not loaded yet. @param {import('fastify').FastifyInstance} app */
function listRoutes (app) {
  /** @type {{ method: string, url: string }[]} */
  const routes = []
  app.addHook('onRoute', ({ method, url }) => { for (const one of [method].flat()) routes.push({ method: one, url }) })
  return routes
}

/**
 * @param {import('tap').Test} t @param {import('fastify').FastifyInstance} app
 * @param {{ method: string, url: string }[]} routes
 */
async function listening (t, app, routes) {
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(() => {
    app.server.closeAllConnections()
    return app.close()
  })
  /** Resolves with the head; the body is read unless it is a stream. @param {string} method @param {string} path @param {any} [init] */
  async function ask (method, path, init = {}) {
    const over = new AbortController()
    const response = await fetch(url + path, { method, ...init, redirect: 'manual', signal: over.signal })
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
    const body = isStream ? '' : await response.text()
    over.abort()
    const isJson = /[/+]json/.test(response.headers.get('content-type') ?? '') && body !== ''
    return { status: response.status, headers: response.headers, body, json: isJson ? JSON.parse(body) : null }
  }
  return { url, app, routes, ask }
}

/**
 * Feeds `latest` and `other` exist, with item `a`.
 * @param {import('tap').Test} t @param {Record<string, any>} settings of access
 */
export async function startGuarded (t, settings) {
  const [engine] = await testEngines()
  const { url: redisUrl } = await startServer(t, { engine })
  for (const name of ['latest', 'other']) {
    const feed = await openFeed(name, { redisUrl })
    feed.append({ id: 'a', ts: Date.now(), value: '1' })
    await feed.close()
  }
  const security = await openSecurityFor(t, settings)
  const opened = await openReader({ redisUrl, readFrom: 'primary' })
  t.teardown(opened.close)
  const { queries, deployment } = insideOfReader(opened)
  const readerApp = createReaderApp({
    queries,
    registry: createReaderRegistry(deployment),
    maxStaleMs: 10_000,
    security,
    caps: { maxStreams: 10, maxStreamsPerToken: 10 },
    deployment,
    keyPrefix: 'fr:'
  })
  const readerRoutes = listRoutes(readerApp)
  const metrics = createWriterMetrics({ figures: async () => [] })
  const feeds = createFeeds({
    open: async (name) => insideOfFeed(await openFeed(name, { redisUrl })),
    definition: queries.definition,
    onOpen () {},
    onClose () {},
    log: silentLog
  })
  t.teardown(() => feeds.close({ drainMs: 0 }))
  const gatewayApp = createGatewayApp({
    feeds,
    status: metrics.status,
    settings: { whenFull: 'refuse', ackWithinMs: 5000, inFlightBytes: 2 ** 24 },
    security,
    stopping: new AbortController().signal,
    registry: metrics.registry
  })
  const gatewayRoutes = listRoutes(gatewayApp)
  return { redisUrl, security, reader: await listening(t, readerApp, readerRoutes), gateway: await listening(t, gatewayApp, gatewayRoutes) }
}
