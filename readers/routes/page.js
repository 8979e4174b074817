/**
 * The page at /: files of readers/page, the client that it follows feeds with, and uPlot out of its package. All are read
 * once and served from memory, compressed for who takes that; nothing comes from outside, and the content policy would
 * not let it. They are asked for anew each time, and are mostly answered 304: a page must fit the reader that serves it.
 */
import { readFile, readdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { acceptsGzip, zip } from '../../src/http/zip.js'
import { isKnown, tagOf } from '../../src/http/tag.js'

const FOLDER = fileURLToPath(new URL('../page/', import.meta.url))
const CLIENT = fileURLToPath(new URL('../../src/client.js', import.meta.url))
const { resolve } = createRequire(import.meta.url)

/** Files that have an address of their own; the others of the folder are at /page/NAME. @type {Readonly<Record<string, string>>} */
const ADDRESSES = Object.freeze({ 'index.html': '/', 'example.html': '/example', 'icon.svg': '/icon.svg' })
/** Addresses that people open. @type {Readonly<Record<string, string>>} */
const PAGES = Object.freeze({ '/': 'The page', '/example': 'A feed, followed by a small script' })
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
const CONTENT_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** @returns {Promise<[url: string, path: string][]>} */
async function filesServed () {
  const names = (await readdir(FOLDER)).filter((name) => extname(name) in TYPES)
  return [
    ...names.map((name) => /** @type {[string, string]} */ ([ADDRESSES[name] ?? `/page/${name}`, join(FOLDER, name)])),
    ...Object.entries(ELSEWHERE)
  ]
}

/** @param {import('fastify').FastifyInstance} app */
export async function pageRoutes (app) {
  for (const [url, path] of await filesServed()) {
    const content = await readFile(path)
    const zipped = await zip(content)
    const tag = tagOf([content])
    const type = TYPES[extname(path)]
    const summary = PAGES[url]
    const schema = summary ? { tags: ['operating'], summary } : /** @type {any} */ ({ hide: true })
    app.get(url, { schema }, async (request, reply) => {
      reply.header('etag', tag).header('cache-control', 'no-cache').header('vary', 'accept-encoding')
        .header('content-security-policy', CONTENT_POLICY).header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer')
      if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send()
      reply.header('content-type', type)
      if (zipped === null || !acceptsGzip(request.headers['accept-encoding'])) return content
      reply.header('content-encoding', 'gzip')
      return zipped
    })
  }
}
