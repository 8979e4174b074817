/**
 * A server program under cachegrind, which counts the instructions that it executes: the same for the same work, however busy the machine
 * is. Decision 031 says what a count sees and what not.
 *
 * What would make two counts of one load differ is fixed: addresses (setarch), seeds of hashes, periodic work, and functions of libc that
 * exist in several versions by processor.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { FreshetError } from '../errors.js'
import { programsOnPath } from '../../src/embedded/index.js'

const run = promisify(execFile)

const INSTALL = 'sudo apt-get install valgrind'
const PROBE_DEADLINE_MS = 60_000
/** of libc and libm, whose choice depends on the processor */
const TUNABLES = 'glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX2,-AVX2_Usable,-ERMS,-FSRM,-FMA,-FMA4'
const CACHEGRIND = [
  '--tool=cachegrind', '--cache-sim=no', '--branch-sim=no', '--cachegrind-out-file=/dev/null', '--child-silent-after-fork=yes'
]
const STEADY = [
  '--hz 1', '--dynamic-hz no', '--activerehashing no', '--io-threads 1',
  '--repl-timeout 600', '--repl-ping-replica-period 600', '--latency-monitor-threshold 0',
  '--slowlog-log-slower-than -1'
]
const SEED = '--hash-seed 0123456789abcdef'
/** Before 7.0 a list is several words, and DEBUG is always allowed. */
const SINCE_7 = Object.freeze(["--client-output-buffer-limit 'replica 0 0 0'", '--enable-debug-command local'])
const BEFORE_7 = Object.freeze(['--client-output-buffer-limit replica 0 0 0'])
const REFS = /I\s+refs:\s+([\d,]+)/

/**
 * @typedef {{ arch: string, libc: string, binary: string, valgrind: string }} Key what counts depend on besides our code: they are compared
 *   to 2 % where all are equal. `binary`: digest of the server program
 */

/**
 * @param {Record<string, string | undefined>} env
 * @returns {Promise<void>} if both programs are there
 * @throws {FreshetError} VALGRIND_MISSING
 */
export async function expectValgrind (env) {
  const found = await programsOnPath(env, ['valgrind', 'setarch'])
  if (found.length < 2) throw new FreshetError('VALGRIND_MISSING', `counting needs valgrind, which is not on PATH: ${INSTALL}`)
}

/**
 * Whether random choices can be fixed: the seed of hashes by an option, that of levels in memory (generator.js).
 * @param {string} engine such as `valkey 9.1.2`
 */
export const hasSeed = (engine) => /^valkey (9\.[1-9]|[1-9]\d)/.test(engine)

/**
 * A script that runs a server under cachegrind, to be used like the server program itself.
 * @param {{ program: string, engine: string, folder: string }} options `engine` such as `valkey 9.1.2`; `folder` for script and output
 * @returns {Promise<string>} path of the script
 */
export async function wrapProgram ({ program, engine, folder }) {
  const file = join(folder, 'counted-server')
  const args = [...STEADY, ...(/^redis [1-6]\./.test(engine) ? BEFORE_7 : SINCE_7), ...(hasSeed(engine) ? [SEED] : [])].join(' ')
  await writeFile(file, `#!/bin/sh\nexport GLIBC_TUNABLES=${TUNABLES}\n` +
    `exec setarch -R valgrind ${CACHEGRIND.join(' ')} --log-file='${folder}/refs.%p' '${program}' "$@" ${args}\n`)
  await chmod(file, 0o755)
  return file
}

/**
 * The instructions of a server that has ended.
 * @param {string} folder of the script @param {number} pid
 * @returns {Promise<number>}
 * @throws {FreshetError} COUNT_FAILED
 */
export async function instructionsOf (folder, pid) {
  const text = await readFile(join(folder, `refs.${pid}`), 'utf8').catch(() => '')
  const refs = REFS.exec(text)
  if (refs) return Number(refs[1].replaceAll(',', ''))
  const lines = text.trim().split('\n').slice(-3).map((line) => line.replace(/^==\d+== ?/, '')).join(' | ')
  throw new FreshetError('COUNT_FAILED', `the server left no count: ${lines || 'valgrind printed nothing'}`)
}

/** @param {string} program @returns {Promise<Key>} */
export async function keyOf (program) {
  const [version, bytes, libc] = await Promise.all([
    run('valgrind', ['--version'], { timeout: PROBE_DEADLINE_MS }).then(({ stdout }) => stdout.trim().replace('valgrind-', '')),
    readFile(program),
    libcOf()
  ])
  return { arch: process.arch, libc, binary: createHash('sha256').update(bytes).digest('hex').slice(0, 16), valgrind: version }
}

/** @returns {Promise<string>} such as `glibc 2.36-9+deb12u14` */
async function libcOf () {
  const { stdout } = await run('ldd', ['--version'], { timeout: PROBE_DEADLINE_MS })
  return `glibc ${/\(.*?([\d.]+[-\w.+]*)\)/.exec(stdout.split('\n')[0])?.[1] ?? stdout.split('\n')[0]}`
}
