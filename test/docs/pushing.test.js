/** What docs/pushing.md shows is what a reader sends. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { SETTINGS } from '../../settings.js'
import { needsBrowser, openPage, startBrowser } from '../browser.js'
import { wholeTest } from '../scope.js'
import { eventually, freePort } from '../servers.js'
import { startGateway, startReader } from '../services.js'
import { sharedDeployment } from '../shared.js'
import { exampleOf, readPage as read, ROOT } from './examples.js'

const text = await read('docs/pushing.md')

/** Without what is another each time. @param {string} stream */
const timeless = (stream) => stream.replace(/^retry: \d+$/gm, 'retry: N').replace(/"ts":\d{13}/g, '"ts":T')
  .replace(/^id: \S+$/gm, 'id: P').replace(/^: as of \d{13}$/gm, ': as of T')

/** @param {string} stream */
const positions = (stream) => [...stream.matchAll(/^id: (\S+)$/gm)].map(([, position]) => position)

t.test('the examples with curl print what is shown', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const on = { redisUrl: primary.url, keyPrefix }
  const [gateway, reader] = await Promise.all([startGateway(t, on), startReader(t, { ...on, flags: ['--read-from', 'primary'] })])
  const path = '/v1/feeds/positions/items'
  const stored = /printf '(.*?)' \|/.exec(await read('README.md'))?.[1].replaceAll('\\n', '\n') ?? ''
  await gateway.send('POST', path, stored, { 'content-type': 'application/x-ndjson' })

  /** @param {string} command */
  function run (command) {
    const line = `exec ${command.replace('curl', 'curl -s').replace('http://127.0.0.1:8080', reader.url)}`
    const curl = spawn('bash', ['-c', line], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => curl.kill('SIGKILL'))
    const out = { text: '' }
    curl.stdout.setEncoding('utf8').on('data', (part) => { out.text += part })
    return out
  }
  const [command, first, later] = await exampleOf('docs/pushing.md', 'curl')
  const live = run(command)
  await eventually(() => timeless(live.text) === timeless(first))
  await gateway.post(path, '[{"id":"bus-7","value":{"stop":13,"lat":52.5210}}]')
  await eventually(() => live.text.includes('"stop":13'))
  await gateway.remove(`${path}/bus-9`)
  await eventually(() => live.text.includes(': as of'))
  t.equal(timeless(live.text), timeless(first + later))

  const [again, shown] = await exampleOf('docs/pushing.md', 'again')
  t.equal(positions(again.replace(/.*Last-Event-ID: (\S+)'/s, 'id: $1'))[0], positions(first)[0], 'it goes on where the first example was')
  const resumed = run(again.replace(/Last-Event-ID: \S+'/, `Last-Event-ID: ${positions(live.text)[0]}'`))
  await eventually(() => positions(resumed.text).length > 0)
  t.equal(timeless(resumed.text), timeless(shown))
})

/** Output of a program that runs until the test ends. @param {import('tap').Test} t @param {string} program */
function start (t, program) {
  const client = pathToFileURL(join(ROOT, 'src/client.js'))
  const folder = t.testdir({ 'program.mjs': program.replace('\'freshet-feed/client\'', `'${client}'`) })
  const child = spawn(process.execPath, [join(folder, 'program.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] })
  const out = { text: '' }
  child.stdout.setEncoding('utf8').on('data', (part) => { out.text += part })
  t.teardown(() => child.kill('SIGKILL'))
  return out
}

t.test('the examples with follow print events, of one feed at the reader that answers, and of several', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const on = { redisUrl: primary.url, keyPrefix }
  const [gateway, reader] = await Promise.all([startGateway(t, on), startReader(t, { ...on, flags: ['--read-from', 'primary'] })])
  const send = (/** @type {string} */ feed, /** @type {number} */ stop) =>
    gateway.post(`/v1/feeds/${feed}/items`, [{ id: `${feed}-1`, value: { stop } }])
  for (const feed of ['latest', 'buses', 'trams']) await send(feed, 12)
  const [one] = await exampleOf('docs/pushing.md', 'follow')
  const [several] = await exampleOf('docs/pushing.md', 'several')
  const [line] = one.split('\n')
  const away = `http://127.0.0.1:${await freePort()}`
  const ofOne = start(t, one.replace('http://10.0.0.1:8080', away).replace('http://10.0.0.2:8080', reader.url))
  await eventually(() => /^snapshot \[\s+\{\s+id: 'latest-1'/.test(ofOne.text))
  await send('latest', 13)
  await eventually(() => /^items \[\s+\{\s+id: 'latest-1'/m.test(ofOne.text))
  const ofSeveral = start(t, `${line}\n${several.replace('http://10.0.0.1:8080', reader.url)}`)
  await eventually(() => /^snapshot buses \[/m.test(ofSeveral.text) && /^snapshot trams \[/m.test(ofSeveral.text))
})

wholeTest('the example with EventSource runs in a page', needsBrowser, async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const on = { redisUrl: primary.url, keyPrefix }
  const [gateway, reader] = await Promise.all([startGateway(t, on), startReader(t, { ...on, flags: ['--read-from', 'primary'] })])
  const send = (/** @type {number} */ value) => gateway.post('/v1/feeds/latest/items', [{ id: 'bus-7', value }])
  await send(1)
  const { page } = await openPage(t, await startBrowser(t))
  await page.goto(`${reader.url}/livez`)
  const [code] = await exampleOf('docs/pushing.md', 'eventsource')
  await page.evaluate((text) => {
    const seen = /** @type {any} */ (globalThis).seen = /** @type {string[]} */ ([])
    const noting = (/** @type {string} */ name) => (/** @type {any[]} */ items) =>
      seen.push(...items.map(({ value }) => `${name} ${value}`))
    // eslint-disable-next-line no-new-func
    new Function('show', 'change', text)(noting('show'), noting('change'))
  }, code)
  const seen = () => page.evaluate(() => /** @type {any} */ (globalThis).seen.join())
  await eventually(async () => await seen() === 'show 1')
  await send(2)
  await eventually(async () => await seen() === 'show 1,change 2')
})

t.test('numbers, options and reasons are those of the code', async (t) => {
  for (const name of ['maxStreams', 'maxStreamsPerToken']) {
    const row = SETTINGS.find((one) => one.name === name)
    t.match(text, `(${Number(row?.default).toLocaleString('en')})`, name)
  }
  const client = await read('src/client.js')
  const options = client.slice(client.indexOf('const OPTIONS'), client.indexOf('\n}', client.indexOf('const OPTIONS')))
  for (const [, name] of options.matchAll(/^ {2}(\w+): \{/gm)) t.match(text, new RegExp(`\`${name}[\` ]`), name)
  const sources = await Promise.all(['src/client.js', 'src/push/hub.js', 'src/push/delivery.js', 'src/push/resume.js'].map(read))
  const reasons = text.slice(text.indexOf('| reason |'), text.indexOf('## What is not pushed')).matchAll(/^\| `(\w+)` \|/gm)
  for (const [, reason] of reasons) t.ok(sources.some((source) => source.includes(`'${reason}'`)), reason)
})
