/**
 * The page at /: files of readers/page, the client (src/client.js), uPlot from its package, and pages of users. They are read once and
 * served from memory, with gzip where accepted, made for the first request that takes it. Nothing is loaded from other hosts, and the
 * content security policy forbids it.
 * `no-cache` makes browsers revalidate each file, usually with a 304, so that a page always fits the reader that serves it.
 */
import { readFile, readdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { SettingsInvalid } from '../../src/errors.js'
import { processRoute } from '../../src/http/index.js'
import { acceptsGzip, gzipped, matchesTag, tagOf } from '../../src/replies/index.js'

const FOLDER = fileURLToPath(new URL('../page/', import.meta.url))
const CLIENT = fileURLToPath(new URL('../../src/client.js', import.meta.url))
const { resolve } = createRequire(import.meta.url)

/** The other files are at /page/NAME. @type {Readonly<Record<string, string>>} */
const ADDRESSES = Object.freeze({
  'index.html': '/',
  'example.html': '/example',
  'icon.svg': '/icon.svg'
})
/** Addresses for people, with summaries. @type {Readonly<Record<string, string>>} */
const PAGES = Object.freeze({
  '/': 'The page',
  '/example': 'A feed, followed by a short script'
})
const ELSEWHERE = Object.freeze({
  '/client.js': CLIENT,
  '/uplot.js': resolve('uplot/dist/uPlot.iife.min.js'),
  '/uplot.css': resolve('uplot/dist/uPlot.min.css')
})
/** @type {Readonly<Record<string, string>>} */
const TYPES = Object.freeze({
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml'
})
/** @param {string} connect what scripts may connect to */
const contentPolicy = (connect) => [
  "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", `connect-src ${connect}`,
  "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"
].join('; ')
const THIS_MACHINE = 'http://127.0.0.1:* http://localhost:*'
/** Parts of pages that this reader fills in. */
const GATEWAY = '<meta name="gateway" content="">'
const SYSTEMS = '<!-- pages of systems -->'

const HEADERS = Object.freeze({
  'cache-control': 'no-cache',
  vary: 'accept-encoding',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer'
})

/** no data: the page asks for a token */
const PUBLIC = /** @type {any} */ ({ access: 'public' })

/** @typedef {Record<string, NonNullable<import('../../src/systems/inside.js').Definition['page']>>} Pages by name of a system */

/** @param {Pages} pages @returns {Promise<[url: string, path: string][]>} @throws {SettingsInvalid} */
async function filesServed (pages) {
  /** Systems by a page of this folder. @type {Record<string, string>} */
  const owners = Object.fromEntries(Object.entries(pages).flatMap(([system, { file }]) => file === undefined ? [] : [[file, system]]))
  const addressOf = (/** @type {string} */ name) => ADDRESSES[name] ?? (owners[name] === undefined ? `/page/${name}` : `/${owners[name]}`)
  const names = (await readdir(FOLDER)).filter((name) => extname(name) in TYPES)
  return [
    ...names.map((name) => /** @type {[string, string]} */ ([addressOf(name), join(FOLDER, name)])),
    ...Object.entries(ELSEWHERE),
    ...(await Promise.all(Object.entries(pages).map(([system, { folder }]) => folder ? filesOfUser(system, folder) : []))).flat()
  ]
}

/** @param {string} system @param {URL} folder @returns {Promise<[url: string, path: string][]>} @throws {SettingsInvalid} */
async function filesOfUser (system, folder) {
  const names = await readdir(folder).catch(({ message }) => { throw new SettingsInvalid([`page of ${system}: unreadable (${message})`]) })
  const unknown = names.filter((name) => !(extname(name) in TYPES)).map((name) =>
    `page of ${system}: ${name}; expected files that end with ${Object.keys(TYPES).join(' ')}`)
  const faults = [...unknown, ...names.includes('index.html') ? [] : [`page of ${system}: ${folder} has no index.html`]]
  if (faults.length > 0) throw new SettingsInvalid(faults)
  return names.map((name) => [name === 'index.html' ? `/${system}` : `/${system}/${name}`, join(fileURLToPath(folder), name)])
}

/**
 * @param {import('fastify').FastifyInstance} app
 * @param {{ gatewayUrl?: string | null, restarts?: () => object[] | null,
 *   pages?: Pages }} options `gatewayUrl`: where pages send
 *   commands; null = they have no form; `restarts`: processes that `npm start` started again; null = this reader is not one of them;
 *   `pages` of systems
 */
export async function pageRoutes (app, { gatewayUrl = null, restarts = () => null, pages = {} }) {
  app.get('/page/restarts.json', { schema: /** @type {any} */ ({ hide: true }), config: PUBLIC }, async (_request, reply) => {
    reply.header('cache-control', 'no-store')
    return restarts() ?? reply.code(204).send()
  })
  const links = Object.keys(pages).map((name) => `<a href="/${name}">${name.replace(/^./, (first) => first.toUpperCase())}</a>`)
  for (const [url, path] of await filesServed(pages)) {
    const page = pages[url.slice(1)]
    const isWithGateway = page?.isOfCommands && gatewayUrl !== null
    const file = await readFile(path)
    const filled = isWithGateway ? String(file).replace(GATEWAY, GATEWAY.replace('""', `"${gatewayUrl}"`)) : null
    const content = url === '/' ? Buffer.from(String(file).replace(SYSTEMS, links.join('\n    '))) : filled ? Buffer.from(filled) : file
    const connect = ["'self'", ...(isWithGateway ? [gatewayUrl] : []), ...(page?.hasFaults ? [THIS_MACHINE] : [])]
    const headers = { ...HEADERS, 'content-security-policy': contentPolicy(connect.join(' ')) }
    /** @type {Promise<Buffer | null> | undefined} null: not smaller */
    let compressing
    const tag = tagOf([content])
    const type = TYPES[extname(path)]
    const summary = PAGES[url] ?? page?.summary
    const schema = summary ? processRoute({ summary, type: 'text/html' }) : /** @type {any} */ ({ hide: true })
    app.get(url, { schema, config: PUBLIC }, async (request, reply) => {
      reply.headers(headers).header('etag', tag)
      if (matchesTag(request.headers['if-none-match'], tag)) return reply.code(304).send()
      reply.header('content-type', type)
      const compressed = acceptsGzip(request.headers['accept-encoding']) ? await (compressing ??= gzipped(content)) : null
      if (compressed === null) return content
      reply.header('content-encoding', 'gzip')
      return compressed
    })
  }
}
