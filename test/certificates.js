/**
 * An authority of a test's own and certificates that it signs, made by the program openssl in a folder that goes with the
 * test; and which engines can use them.
 */
import { execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { engineName, testEngines } from './servers.js'

const KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']

/** @typedef {{ ca: string, cert: string, key: string }} Files paths of PEM files; `ca` is the authority's certificate */
/** @typedef {Awaited<ReturnType<typeof createAuthority>>} Authority */

/** @param {import('tap').Test} t */
export async function createAuthority (t) {
  const folder = await mkdtemp(join(tmpdir(), 'freshet-tls-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const openssl = (/** @type {string[]} */ ...args) => promisify(execFile)('openssl', args, { cwd: folder })
  const inFolder = (/** @type {string} */ file) => join(folder, file)
  await openssl('req', '-x509', ...KEY, '-days', '2', '-subj', '/CN=test authority', '-keyout', 'ca.key', '-out', 'ca.pem')
  const ca = inFolder('ca.pem')

  /**
   * @param {string} name of its files
   * @param {{ names?: string, days?: number }} [options] `names` as subjectAltName; `days` below zero: it has expired
   * @returns {Promise<Files>}
   */
  async function issue (name, { names = 'IP:127.0.0.1', days = 2 } = {}) {
    await writeFile(inFolder(`${name}.ext`), `subjectAltName=${names}\n`)
    await openssl('req', '-new', ...KEY, '-subj', `/CN=${name}`, '-keyout', `${name}.key`, '-out', `${name}.csr`)
    await openssl('x509', '-req', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', String(days),
      '-extfile', `${name}.ext`, '-out', `${name}.pem`)
    return { ca, cert: inFolder(`${name}.pem`), key: inFolder(`${name}.key`) }
  }
  return { ca, issue, folder }
}

/**
 * Whether its program can do TLS: asked for it without a certificate, it says which is missing.
 * @param {import('./servers.js').Engine} engine
 */
const speaksTls = ({ program }) => new Promise((resolve, reject) => {
  const child = spawn(program, ['--port', '0', '--tls-port', '1', '--save', ''], { cwd: tmpdir(), stdio: ['ignore', 'pipe', 'pipe'] })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => { text += chunk })
  child.once('error', reject).once('close', () => resolve(/No tls-cert-file configured/.test(text)))
})

/**
 * The engines that can do TLS; the others are named on stderr. Where FRESHET_TEST_ENGINES asks for redis, one has to.
 * @returns {Promise<import('./servers.js').Engine[]>}
 */
export async function tlsEngines () {
  const engines = await testEngines()
  const able = await Promise.all(engines.map(speaksTls))
  const found = engines.filter((_, i) => able[i])
  const others = engines.filter((_, i) => !able[i])
  if (others.length) process.stderr.write(`# TLS is not tested on ${others.map(engineName).join(', ')}: no TLS in the program\n`)
  if (/\bredis\b/.test(process.env.FRESHET_TEST_ENGINES ?? '') && !found.some(({ name }) => name === 'redis')) {
    throw new Error('FRESHET_TEST_ENGINES asks for redis, and none of the redis servers here can do TLS')
  }
  return found
}
