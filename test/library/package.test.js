/**
 * The package as it is published: packed, installed into an empty project, and used there as the README shows.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, posix } from 'node:path'
import { promisify } from 'node:util'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { startGateway, startReader } from '../commands.js'
import { eventually, startDeployment, testEngines } from '../servers.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const run = promisify(execFile)
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(FRESHET_|npm_|NODE_OPTIONS$)/i.test(name)))

const folder = await mkdtemp(join(tmpdir(), 'freshet-package-'))
t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: ROOT, env })
// lines of the build may come first
const packed = JSON.parse(stdout.slice(stdout.search(/^[[{]/m)))
const [{ filename, files, unpackedSize }] = Array.isArray(packed) ? packed : Object.values(packed)
const names = files.map((/** @type {{ path: string }} */ { path }) => path)

/** @param {string} name @returns {Promise<string[]>} what is between marks in the README behind its name */
async function exampleOf (name) {
  const text = await readFile(join(ROOT, 'README.md'), 'utf8')
  return [...text.slice(text.indexOf(`<!-- example: ${name} -->`)).matchAll(/```(?:js)?\n([\s\S]*?)```/g)].map(([, block]) => block)
}

t.test('the package holds what a user needs and nothing else', async (t) => {
  for (const name of ['package.json', 'README.md', 'LICENSE', 'settings.js', 'src/index.js', 'types/src/index.d.ts', 'src/client.js', 'types/src/client.d.ts', 'types/settings.d.ts',
    'bin/freshet.js', 'writers/feed.js', 'writers/gateway.js', 'readers/server.js', 'readers/page/index.html', 'docs/errors.md', 'docs/metrics.md', 'infra/grafana/freshet.json']) {
    t.ok(names.includes(name), name)
  }
  for (const script of (await readdir(join(ROOT, 'lua')))) t.ok(names.includes(`lua/${script}`), script)
  const allowed = /^(bin|charts|docs|experiments|infra|lua|readers|src|types\/src|writers)\/|^(package\.json|README\.md|LICENSE|settings\.js|types\/settings\.d\.ts)$/
  const unwanted = /(^|\/)tests?\/|\.(test|map)\.|tgz$|(^|\/)\.|(^|\/)results\/|-lock\.json$/
  t.same(names.filter((/** @type {string} */ name) => !allowed.test(name) || unwanted.test(name)), [])
  // code, its types and what is said of it are 2.7 MB; results, engines or a browser would be many more
  t.ok(unpackedSize < 3_000_000, `${unpackedSize} bytes`)
})

t.test('what README and docs link to is in the package', async (t) => {
  const missing = []
  let links = 0
  for (const name of names.filter((/** @type {string} */ name) => name === 'README.md' || /^docs\/.*\.md$/.test(name))) {
    for (const [, target] of (await readFile(join(ROOT, name), 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^([a-z]+:|#)/.test(target)) continue
      const path = posix.join(posix.dirname(name), target.replace(/#.*/, ''))
      links++
      // raw samples are many, and are in the repository alone
      if (/^experiments\/[^/]+\/results\//.test(path)) continue
      if (!names.some((/** @type {string} */ one) => one === path || one.startsWith(`${path.replace(/\/$/, '')}/`))) missing.push(`${name}: ${target}`)
    }
  }
  t.same(missing, [])
  t.ok(links > 20, `${links} links`)
})

t.test('installed into an empty project', async (t) => {
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module' }))
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', `./${filename}`], { cwd: folder, env })

  await t.test('the example of the README prints what the README shows', async (t) => {
    const [code, printed] = await exampleOf('library')
    for (const engine of await testEngines()) {
      const { primary } = await startDeployment(t, { engine, replicas: 1 })
      await writeFile(join(folder, 'example.js'), code.replace('redis://127.0.0.1:6379', primary.url))
      const { stdout, stderr } = await run('node', ['example.js'], { cwd: folder, env })
      t.equal(stdout, printed)
      t.equal(stderr, '')
    }
  })

  await t.test('the example of the client follows what is sent, as the README shows', async (t) => {
    const [engine] = await testEngines()
    const { primary } = await startDeployment(t, { engine, replicas: 0 })
    const [gateway, reader] = await Promise.all([
      startGateway(t, { redisUrl: primary.url }), startReader(t, { redisUrl: primary.url, flags: ['--read-from', 'primary'] })])
    const send = (/** @type {string} */ command) => run('bash', ['-c', command.replace('curl', 'curl -s').replace('http://127.0.0.1:8081', gateway.url)])
    const [code, command, printed] = await exampleOf('client')
    await send((await exampleOf('positions'))[0])
    await writeFile(join(folder, 'follow.js'), code.replace('http://127.0.0.1:8080', reader.url))
    const child = spawn('node', ['follow.js'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] })
    t.teardown(() => child.kill('SIGKILL'))
    let stdout = ''
    child.stdout.setEncoding('utf8').on('data', (text) => { stdout += text })
    await eventually(() => stdout.includes('bus-9'))
    await send(command)
    await eventually(() => stdout.length >= printed.length)
    t.equal(stdout, printed)
  })

  await t.test('types are checked for whoever uses it, strictly', async (t) => {
    const program = `
      import { openFeed, openReader, FreshetError, type Change, type Feed, type Page } from 'freshet'
      const feed: Feed = await openFeed('positions', { redisUrl: 'redis://h', ack: 'replica', batchMs: 5, onRefused: (code: string) => code })
      const room: boolean = feed.append({ id: 'a', ts: 1, value: new Uint8Array(1) })
      const page: Page = await feed.latest({ limit: 10, after: null })
      const text: string | undefined = page.items[0]?.value.toString()
      for await (const change of feed.subscribe({ from: 'p' })) { const one: Change = change; if (!one.deleted) one.value.length }
      const reader = await openReader({ redisUrl: 'redis://h' })
      const { count, exact } = await reader.feed('positions').count()
      const error = new FreshetError('SERVER_LOST', 'x'); const retry: boolean = error.retryable
      // @ts-expect-error: an ack that is none
      await openFeed('x', { redisUrl: 'redis://h', ack: 'nobody' })
      // @ts-expect-error: an option that is none
      await openFeed('x', { redisUrl: 'redis://h', redisUr: '' })
      // @ts-expect-error: a page is no number
      const wrong: number = await feed.latest(2)
      // @ts-expect-error: an item has no such field
      page.items[0]?.nonsense
      // @ts-expect-error: a value must be text or bytes
      feed.append({ id: 'a', value: 1 })
      feed.append({ id: 'a', value: new ArrayBuffer(1) })
      feed.append({ id: 'a', value: new DataView(new ArrayBuffer(1)) })
      // @ts-expect-error: bytes are a Buffer, and not whatever is wanted
      page.items[0]?.value.nonsense
      export { room, text, count, exact, retry, wrong }
    `
    const following = `
      import { follow, FollowError, type FollowOptions, type LiveEvent, type LiveItem } from 'freshet/client'
      const options: FollowOptions = { ids: ['a'], maxRate: 10, from: null, signal: new AbortController().signal, onRetry: (error: Error, waitMs: number) => {} }
      for await (const one of follow(['http://h', new URL('http://h')], 'positions', options)) {
        const event: LiveEvent = one
        if (one.event === 'reset') { const reason: string = one.reason } else {
          const item: LiveItem | undefined = one.items[0]
          if (item && !item.deleted) { const value: Uint8Array = item.value; const ts: number = item.ts }
          // @ts-expect-error: a deletion has no value
          item?.value.length
        }
        // @ts-expect-error: a reset has no items
        one.items.length
      }
      for await (const { event, items } of follow('http://h', 'positions', { encoding: 'utf8' })) {
        if (event === 'reset') continue
        const value: string | Uint8Array | undefined = items[0]?.value
        // @ts-expect-error: text, or bytes where it is none
        const text: string | undefined = items[0]?.value
      }
      const { code, status, retryable } = new FollowError('FEED_UNKNOWN', 'x', 404)
      // @ts-expect-error: an encoding that is none
      follow('http://h', 'positions', { encoding: 'hex' })
      // @ts-expect-error: an option that is none
      follow('http://h', 'positions', { maxrate: 1 })
    `
    await Promise.all([
      writeFile(join(folder, 'program.mts'), program),
      writeFile(join(folder, 'program-following.mts'), following),
      writeFile(join(folder, 'program-example.mts'), (await exampleOf('client'))[0])
    ])
    const resolutions = { nodenext: ['--module', 'nodenext'], bundler: ['--module', 'preserve', '--moduleResolution', 'bundler'] }
    t.match(await readFile(join(folder, 'node_modules/freshet/types/src/index.d.ts'), 'utf8'), /^\/\/\/ <reference types="node"/m, 'whatever else of what is installed may ask for them')
    for (const [resolution, flags] of Object.entries(resolutions)) {
      // nothing is said of types: what the package needs comes with it
      const check = (/** @type {string[]} */ ...more) => run('node', [join(ROOT, 'node_modules/typescript/bin/tsc'), '--ignoreConfig', '--noEmit', '--strict', '--target', 'es2023', ...flags, '--listFiles', ...more], { cwd: folder, env }).catch((error) => error)
      const linesOf = (/** @type {{ stdout: string }} */ { stdout }) => stdout.split('\n')
      // types of other packages are theirs
      const isOurs = (/** @type {string} */ line) => /^(program|node_modules\/freshet\/).*error/.test(line)
      // with skipLibCheck what is not known is anything, without a word
      for (const more of resolution === 'nodenext' ? [[], ['--skipLibCheck']] : [['--skipLibCheck']]) {
        t.same(linesOf(await check('--lib', 'es2024', ...more, 'program.mts')).filter(isOurs), [], `the library, ${[resolution, ...more].join(' ')}`)
      }
      const following = linesOf(await check('--lib', 'es2024,dom', '--skipLibCheck', 'program-following.mts', 'program-example.mts'))
      t.same(following.filter(isOurs), [], `the client, ${resolution}`)
      t.ok(following.some((line) => line.endsWith('freshet/types/src/client.d.ts')))
      t.same(following.filter((line) => line.includes('@types/node')), [], 'which needs nothing of Node')
    }
  })

  await t.test('its command is there', async (t) => {
    const { stdout } = await run('npx', ['--no-install', 'freshet', '--help'], { cwd: folder, env })
    t.match(stdout, /npm start writer/)
  })
})
