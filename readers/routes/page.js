/** The plain page at /: four files, read once, nothing from outside. */
import { readFile } from 'node:fs/promises'

const FOLDER = new URL('../page/', import.meta.url)
const FILES = Object.freeze([
  { url: '/', file: 'index.html', type: 'text/html; charset=utf-8' },
  { url: '/page.js', file: 'page.js', type: 'text/javascript; charset=utf-8' },
  { url: '/page.css', file: 'page.css', type: 'text/css; charset=utf-8' },
  { url: '/icon.svg', file: 'icon.svg', type: 'image/svg+xml' }
])
const CONTENT_POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

/** @param {import('fastify').FastifyInstance} app */
export async function pageRoutes (app) {
  for (const { url, file, type } of FILES) {
    const content = await readFile(new URL(file, FOLDER))
    const schema = url === '/' ? { tags: ['operating'], summary: 'The page' } : /** @type {any} */ ({ hide: true })
    app.get(url, { schema }, async (_request, reply) => {
      reply.header('content-type', type).header('content-security-policy', CONTENT_POLICY)
        .header('x-content-type-options', 'nosniff').header('referrer-policy', 'no-referrer').header('cache-control', 'no-cache')
      return content
    })
  }
}
