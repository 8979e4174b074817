/**
 * The package as it is published: packed, put into an empty project, and used there as the documentation shows. At night npm installs it;
 * otherwise it is unpacked there beside the dependencies that it names.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { askAt, runCommand } from '../../test/commands.js'
import { exampleOf, ROOT } from '../../test/docs/examples.js'
import { connectFor, eventually, startDeployment } from '../../test/servers.js'
import { CLIENT_PROGRAMS, LIBRARY_PROGRAMS } from '../../test/library/programs.js'
import { isNight, scopedEngines } from '../../test/scope.js'
import { startGateway, startReader } from '../../test/services.js'

const run = promisify(execFile)
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(FRESHET_|npm_|NODE_OPTIONS$)/i.test(name)))

const EXPRESS_VERSION = '5.3.0'
const EXPRESS = `
import express from 'express'
import { openFeed } from 'freshet-feed'
import { openReaderHandler } from 'freshet-feed/reader'

const redisUrl = process.argv[2]
const feed = await openFeed('trams', { redisUrl, deadlineMs: 10_000 })
feed.append({ id: 'tram-1', value: 'stop 12' })
await feed.flush()
const feeds = await openReaderHandler({ redisUrl, deadlineMs: 10_000, feeds: ({ user }) => user.feeds })
const app = express()
app.use((request, response, next) => {
  request.user = { feeds: ['trams'] }
  next()
})
app.use('/feeds', feeds)
app.get('/', (request, response) => { response.send('home') })
const server = app.listen(0, '127.0.0.1', async () => {
  const url = \`http://127.0.0.1:\${server.address().port}\`
  const get = async (path) => {
    const response = await fetch(url + path)
    return [response.status, await response.text()]
  }
  console.log(JSON.stringify([
    await get('/'), await get('/feeds/v1/feeds/trams/items/tram-1?encoding=utf8'), (await get('/feeds/v1/feeds/buses/count'))[0]
  ]))
  await Promise.all([feeds.close(), feed.close()])
  server.close()
})
`

const folder = await mkdtemp(join(tmpdir(), 'freshet-package-'))
t.teardown(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
const { stdout } = await run('npm', ['pack', '--json', '--pack-destination', folder], { cwd: ROOT, env })
// lines of the build may come first
const packed = JSON.parse(stdout.slice(stdout.search(/^[[{]/m)))
const [{ filename, files, unpackedSize }] = Array.isArray(packed) ? packed : Object.values(packed)
const names = files.map((/** @type {{ path: string }} */ { path }) => path)

t.test('the package holds what a user needs and nothing else', async (t) => {
  for (const name of ['package.json', 'README.md', 'CHANGELOG.md', 'LICENSE', 'settings.js', 'src/index.js', 'src/client.js',
    'types/src/index.d.ts', 'types/src/client.d.ts', 'types/src/systems/index.d.ts', 'examples/seats/hall.lua', 'bin/freshet.js',
    'writers/feed.js', 'writers/gateway.js',
    'readers/server.js', 'readers/page/index.html', 'docs/errors.md', 'docs/metrics.md']) {
    t.ok(names.includes(name), name)
  }
  const scripts = (await readdir(join(ROOT, 'lua'), { recursive: true })).filter((name) => name.endsWith('.lua'))
  for (const script of scripts) t.ok(names.includes(`lua/${script}`), script)
  const folders = /^(bin|demo|docs|examples|lua|readers|src|types\/(readers|src)|writers)\//
  const alone = /^(package\.json|(README|CHANGELOG|CONTRIBUTING|SECURITY)\.md|LICENSE|settings\.js)$/
  const isAllowed = (/** @type {string} */ name) => folders.test(name) || alone.test(name)
  // lockfiles of programs that are fetched when they are needed
  const unwanted = /(^|\/)tests?\/|\.(test|map)\.|tgz$|(^|\/)\.|(^|\/)results\/|(?<!dynamodb\/pinned)-lock\.json$/
  t.same(names.filter((/** @type {string} */ name) => !isAllowed(name) || unwanted.test(name)), [])
  const ofLab = /^(bin\/experiment|lab|charts)\/|(^|\/)plan\.js$/
  t.same(names.filter((/** @type {string} */ name) => ofLab.test(name) && name !== 'bin/plan.js'), [])
  // code, types and documentation are 3.7 MB; results, engines or a browser would be much larger
  t.ok(unpackedSize < 3_900_000, `${unpackedSize} bytes`)
})

t.test('an application may pin another release of an optional peer', async (t) => {
  const { peerDependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  for (const [name, range] of Object.entries(peerDependencies)) t.match(range, /^\^\d+$/, `${name}: any release of its major version`)
})

t.test('what README and docs link to is in the package', async (t) => {
  const missing = []
  let links = 0
  for (const name of names.filter((/** @type {string} */ name) => name === 'README.md' || /^docs\/.*\.md$/.test(name))) {
    for (const [, target] of (await readFile(join(ROOT, name), 'utf8')).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^([a-z]+:|#)/.test(target)) continue
      const path = posix.join(posix.dirname(name), target.replace(/#.*/, ''))
      links++
      // the lab, its pages and its charts, and what deploys the processes are in the repository alone
      if (/^(charts|experiments|infra|lab)(\/|$)/.test(path)) continue
      const isThere = (/** @type {string} */ one) => one === path || one.startsWith(`${path.replace(/\/$/, '')}/`)
      if (!names.some(isThere)) missing.push(`${name}: ${target}`)
    }
  }
  t.same(missing, [])
  t.ok(links > 20, `${links} links`)
})

t.test('installed into an empty project', async (t) => {
  // an application with a release of its own of a client that is an optional peer
  const dependencies = isNight ? { '@aws-sdk/client-dynamodb': '3.1100.0' } : {}
  await writeFile(join(folder, 'package.json'), JSON.stringify({ name: 'user', private: true, type: 'module', dependencies }))
  await (isNight ? install(t) : unpack())
  const count = installedWith(JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')).packages)
  // more is a new dependency, or one that has grown
  t.ok(count <= 170, `${count} packages`)
  const [engine] = await scopedEngines()
  const { primary } = await startDeployment(t, { engine, replicas: 1 })
  const admin = await connectFor(t, primary.url)

  await t.test('the first example of each library prints what is shown; the others: test/docs/examples.test.js', async (t) => {
    for (const [page, name] of [['README.md', 'short'], ['docs/own-systems.md', 'own']]) {
      const [code, printed] = await exampleOf(page, name)
      await writeFile(join(folder, 'example.js'), code.replace('redis://127.0.0.1:6379', primary.url))
      t.same(await run('node', ['example.js'], { cwd: folder, env }), { stdout: printed, stderr: '' }, page)
    }
  })

  await t.test('the example of the client follows what is sent, as docs/library.md shows', async (t) => {
    await admin.send('FLUSHALL')
    const [gateway, reader] = await Promise.all([
      startGateway(t, { redisUrl: primary.url }), startReader(t, { redisUrl: primary.url, flags: ['--read-from', 'primary'] })])
    const send = (/** @type {string} */ command) =>
      run('bash', ['-c', command.replace('curl', 'curl -s').replace('http://127.0.0.1:8081', gateway.url)])
    const [code, command, printed] = await exampleOf('docs/library.md', 'client')
    await send((await exampleOf('README.md', 'positions'))[0])
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

  await t.test('a reader in a server of Express', async (t) => {
    const tools = join(folder, 'tools')
    await mkdir(tools)
    await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--prefix', tools, `express@${EXPRESS_VERSION}`], { env })
    await symlink(join(tools, 'node_modules/express'), join(folder, 'node_modules/express'))
    await writeFile(join(folder, 'server.js'), EXPRESS)
    const { stdout } = await run('node', ['server.js', primary.url], { cwd: folder, env })
    t.match(JSON.parse(stdout), [[200, 'home'], [200, /"id":"tram-1",.*"value":"stop 12"/], 403])
  })

  await t.test('types are strict, in TypeScript projects of modules and of CommonJS', async (t) => {
    const [example] = await exampleOf('docs/library.md', 'client')
    const [typed] = await exampleOf('docs/library.md', 'typed')
    const programs = { ...LIBRARY_PROGRAMS, ...CLIENT_PROGRAMS, 'program-example.mts': example, 'program-types.mts': typed }
    await Promise.all(Object.entries(programs).map(([name, text]) => writeFile(join(folder, name), text)))
    const types = await readFile(join(folder, 'node_modules/freshet-feed/types/src/index.d.ts'), 'utf8')
    t.match(types, /^\/\/\/ <reference types="node"/m, 'types of Node come with it')

    const nodenext = ['--module', 'nodenext']
    const bundler = ['--module', 'preserve', '--moduleResolution', 'bundler']
    /** Lines that tsc prints: files, and errors of ours; types of other packages are theirs. @param {...string} more */
    async function check (...more) {
      const flags = ['--ignoreConfig', '--noEmit', '--strict', '--target', 'es2023', '--listFiles', ...more]
      const tsc = join(ROOT, 'node_modules/typescript-7/bin/tsc')
      const { stdout } = await run('node', [tsc, ...flags], { cwd: folder, env }).catch((error) => error)
      const lines = stdout.split('\n')
      return { lines, errors: lines.filter((/** @type {string} */ line) => /^(program|node_modules\/freshet-feed\/).*error/.test(line)) }
    }
    const clients = ['--lib', 'es2024,dom', '--skipLibCheck', ...Object.keys(CLIENT_PROGRAMS), 'program-example.mts']
    // the compiler takes seconds for each; test/library/types.test.js compiles the same programs with the same declarations
    if (isNight) {
      const library = [...nodenext, '--lib', 'es2024', ...Object.keys(LIBRARY_PROGRAMS), 'program-types.mts']
      t.same((await check(...library)).errors, [], 'the library')
      const client = await check(...nodenext, ...clients)
      t.same(client.errors, [], 'the client')
      t.ok(client.lines.some((/** @type {string} */ line) => line.endsWith('freshet-feed/types/src/client.d.ts')))
      t.same(client.lines.filter((/** @type {string} */ line) => line.includes('@types/node')), [], 'the client needs no types of Node')
    }
    // with skipLibCheck an unknown type is silently `any`: the errors that the programs expect would be missing
    const both = await check(...bundler, ...clients, 'program.mts', 'program-json.mts')
    t.same(both.errors, [], 'both, as bundlers resolve them, with skipLibCheck')
  })

  await t.test('a CommonJS project loads it with require(), without a warning', async (t) => {
    await writeFile(join(folder, 'program.cjs'), `
      const { openFeed } = require('freshet-feed')
      const { follow } = require('freshet-feed/client')
      const { openSystem, checkRule } = require('freshet-feed/systems')
      const lua = "return function () return 'held', {}, {} end"
      console.log(typeof openFeed, typeof follow, typeof checkRule)
      openSystem({ name: 'chairs', rules: { chair: { lua } } }, { redisUrl: process.argv[2], deadlineMs: 10_000 }).then(async (chairs) => {
        console.log((await chairs.submit({ rule: 'chair', key: 'a', args: [] })).code)
        await chairs.close()
      })
    `)
    t.same(await run('node', ['program.cjs', primary.url], { cwd: folder, env }),
      { stdout: 'function function function\nheld\n', stderr: '' })
  })

  await t.test('the main job runs from it, without a checkout', async (t) => {
    const flags = ['--port', '0', '--gateway-port', '0', '--rate', '500', '--ids', '50']
    const command = runCommand(t, ['start', ...flags], { cwd: join(folder, 'node_modules/freshet-feed') })
    const [, url] = await command.until(/^reader +(http:\/\/127\.0\.0\.1:\d+) /m)
    await command.until(/^writer +500 items/m)
    t.match(await askAt(url).ask('/v1/feeds/latest/items?limit=1'), { status: 200, json: { items: [{ id: String }] } })
    t.match(await askAt(url).get('/'), { status: 200, body: /<html/i })
    t.equal((await command.stop()).code, 0)
  })

  await t.test('its command is there', async (t) => {
    const { version, bin: { freshet } } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    const words = isNight ? ['npx', '--no-install', 'freshet'] : ['node', `node_modules/freshet-feed/${freshet}`]
    t.equal((await run(words[0], [...words.slice(1), '--version'], { cwd: folder, env })).stdout, `${version}\n`)
    const experiment = run(words[0], [...words.slice(1), 'experiment'], { cwd: folder, env })
    await t.rejects(experiment, { code: 2, stdout: '', stderr: /^freshet experiment: the lab is a part of the repository [^\n]+\n$/ })
  })
})

/** @param {import('tap').Test} t */
async function install (t) {
  const { stderr } = await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', `./${filename}`], { cwd: folder, env })
  t.notMatch(stderr, /EBADENGINE/, 'every package supports this version of Node')
}

/** @param {Record<string, any>} packages of the lockfile, by folder @returns {number} how many come with the library */
function installedWith (packages) {
  /** @type {Set<string>} */
  const found = new Set()
  /** @param {string} folder */
  const visit = (folder) => {
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[folder]
    const peers = Object.keys({ ...peerDependencies }).filter((name) => !peerDependenciesMeta?.[name]?.optional)
    for (const name of [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers]) {
      let from = folder
      while (from !== '' && !packages[posix.join(from, 'node_modules', name)]) from = from.replace(/(^|\/)node_modules\/(@[^/]+\/)?[^/]+$/, '')
      const path = posix.join(from, 'node_modules', name)
      if (!packages[path] || found.has(path)) continue
      found.add(path)
      visit(path)
    }
  }
  visit('')
  return found.size
}

async function unpack () {
  const modules = join(folder, 'node_modules')
  const own = join(modules, 'freshet-feed')
  await mkdir(own, { recursive: true })
  await run('tar', ['-xzf', join(folder, filename), '-C', own, '--strip-components', '1'])
  for (const name of Object.keys(JSON.parse(await readFile(join(own, 'package.json'), 'utf8')).dependencies)) {
    await mkdir(dirname(join(modules, name)), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), join(modules, name))
  }
}
