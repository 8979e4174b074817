/** Proxies with the recipes of infra/proxies, on free ports, in front of a reader and a gateway. They end with the test. */
import { spawn } from 'node:child_process'
import { access, constants, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { ROOT } from '../architecture/source.js'
import { eventually, freePort } from '../servers.js'

const NGINX_FOLDERS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
const SYSTEM_FOLDERS = ['/usr/sbin', '/usr/local/sbin']

/**
 * @type {Record<string, { file: string, args: (file: string, folder: string, port: number) => string[],
 *   edit?: (text: string, folder: string) => string }>}
 */
const PROXIES = {
  nginx: {
    file: 'nginx.conf',
    args: (file, folder) => ['-e', 'stderr', '-c', file, '-g', `daemon off; pid ${folder}/pid; worker_processes 1;`],
    // logs and folders of the machine are not the test's
    edit: (text, folder) => text.replace('http {', ['http {', 'access_log off;', ...NGINX_FOLDERS.map((name) =>
      `${name}_temp_path ${folder}/${name};`)].join('\n'))
  },
  haproxy: { file: 'haproxy.cfg', args: (file) => ['-db', '-f', file] },
  caddy: {
    file: 'Caddyfile',
    args: (file) => ['run', '--config', file, '--adapter', 'caddyfile'],
    edit: (text) => `{\n\tadmin off\n}\n${text}`
  },
  varnishd: {
    file: 'default.vcl',
    args: (file, folder, port) => ['-F', '-j', 'none', '-a', `127.0.0.1:${port}`, '-f', file, '-n', `${folder}/varnish`, '-s', 'malloc,16m']
  }
}

/** @param {string} name of a program @returns {Promise<string | null>} its path */
async function findProgram (name) {
  for (const folder of [...String(process.env.PATH).split(delimiter).filter(Boolean), ...SYSTEM_FOLDERS]) {
    const program = join(folder, name)
    if (await access(program, constants.X_OK).then(() => true, () => false)) return program
  }
  return null
}

/** For the options of a test. @param {string} name of a program */
export const needsProxy = async (name) =>
  ({ skip: await findProgram(name) === null && `no ${name} on PATH: install it, on Debian with apt-get install` })

/**
 * @param {import('tap').Test} t @param {string} name of a program
 * @param {{ readerPort: number, gatewayPort: number }} behind
 * @returns {Promise<string>} its URL, when it answers
 */
export async function startRecipe (t, name, { readerPort, gatewayPort }) {
  const program = /** @type {string} */ (await findProgram(name))
  const { file, args, edit = (text) => text } = PROXIES[name]
  const folder = await mkdtemp(join(tmpdir(), 'freshet-proxy-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const ports = /** @type {Record<string, number>} */ ({ 8000: port, 8080: readerPort, 8081: gatewayPort })
  const recipe = (await readFile(`${ROOT}/infra/proxies/${file}`, 'utf8')).replace(/\b(8000|8080|8081)\b/g, (known) => String(ports[known]))
  await writeFile(join(folder, file), edit(recipe, folder))
  const child = spawn(program, args(join(folder, file), folder, port), {
    stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: folder }
  })
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => { log += text })
  const ended = new Promise((resolve) => child.once('close', resolve))
  t.teardown(() => {
    child.kill('SIGTERM')
    return ended
  })
  const url = `http://127.0.0.1:${port}`
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`${name} ended: ${log}`)
    return (await fetch(`${url}/livez`).catch(() => null))?.status === 200
  })
  return url
}
