/** docs/routes.md has every route of gateway and reader, as their OpenAPI documents describe it. */
import { readFile, writeFile } from 'node:fs/promises'
import t from 'tap'
import { startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'

const PAGE = new URL('../../docs/routes.md', import.meta.url)
const BEGIN = /(<!-- routes:[^\n]*-->\n)[\s\S]*?(<!-- \/routes -->)/
const TAGS = ['feeds', 'auctions', 'sales', 'prices', 'orders', 'dead-letters', 'operating']
/** of every route, or of every route with a body */
const COMMON = ['REQUEST_INVALID', 'REQUEST_TIMEOUT', 'URI_TOO_LONG', 'HEADERS_TOO_LARGE', 'INTERNAL', 'PAYLOAD_TOO_LARGE',
  'MEDIA_TYPE_UNSUPPORTED', 'FIELD_INVALID', 'REQUEST_DIFFERS', 'IDEMPOTENCY_KEY_REUSED']

const HEAD = ['| route | what it does | fields | replies |', '|---|---|---|---|']

const cell = (/** @type {string} */ text) => text.replaceAll('|', '\\|').replace(/\s+/g, ' ').trim()
const code = (/** @type {string} */ text) => `\`${text}\``

/** Fields of query and body; a star marks those that are required. @param {any} operation */
function fieldsOf ({ parameters = [], requestBody }) {
  const query = parameters.filter((/** @type {any} */ one) => one.in === 'query')
    .map(({ name, required }) => `${code(`?${name}`)}${required ? ' *' : ''}`)
  const { properties = {}, required = [] } = requestBody?.content['application/json']?.schema ?? {}
  return [...query, ...Object.keys(properties).map((name) => `${code(name)}${required.includes(name) ? ' *' : ''}`)].join(' ')
}

/** Statuses of success, and codes of errors that not every route has. @param {any} operation */
function repliesOf ({ responses }) {
  const found = Object.entries(responses).flatMap(([status, { content }]) => {
    if (Number(status) < 400) return [status]
    const { code: { enum: codes = [] } = {} } = content?.['application/problem+json']?.schema.properties ?? {}
    const own = codes.filter((/** @type {string} */ one) => !COMMON.includes(one))
    return own.length && Number(status) < 500 ? [`${status} ${own.map(code).join(' ')}`] : []
  })
  return found.join(', ')
}

/** @param {any} document of OpenAPI @param {string} tag */
function rowsOf ({ paths }, tag) {
  return Object.entries(paths).flatMap(([path, methods]) => Object.entries(methods).filter(([, { tags }]) => tags?.includes(tag))
    .map(([method, operation]) => {
      const route = code(`${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ':$1')}`)
      return `| ${route} | ${cell(operation.summary)} | ${fieldsOf(operation)} | ${repliesOf(operation)} |`
    })).sort()
}

t.test('docs/routes.md shows every route as it is', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const on = { redisUrl: primary.url, keyPrefix }
  const services = await Promise.all([startGateway(t, on), startReader(t, { ...on, flags: ['--read-from', 'primary'] })])
  /** @type {any[]} */
  const [gateway, reader] = await Promise.all(services.map(async ({ url }) => (await fetch(`${url}/docs/json`)).json()))
  const sections = TAGS.flatMap((tag) => [['Gateway', gateway], ['Reader', reader]].map(([process, document]) => {
    const rows = rowsOf(document, tag)
    return rows.length === 0 ? '' : [`## ${process}: ${tag}\n`, ...HEAD, ...rows].join('\n') + '\n'
  })).filter(Boolean)
  const text = await readFile(PAGE, 'utf8')
  const wanted = text.replace(BEGIN, (_, begin, end) => `${begin}\n${sections.join('\n')}\n${end}`)
  if (process.env.UPDATE_DOCS) await writeFile(PAGE, wanted)
  else t.equal(text, wanted, 'run npm test with UPDATE_DOCS=1 to write the page')
  const known = new Set(TAGS)
  /** @type {any[]} */
  const operations = [gateway, reader].flatMap(({ paths }) => Object.values(paths)).flatMap((methods) => Object.values(methods))
  for (const { tags, summary } of operations) t.ok(tags.some((/** @type {string} */ tag) => known.has(tag)), `${summary}: ${tags}`)
})
