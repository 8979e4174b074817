/**
 * Servers whose wall clock a test moves while they run: shifted-clock.c, compiled by the test, is preloaded into them.
 *
 *     t.test(name, { skip: noShiftedClock }, ...)   where there is no compiler
 */
import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from './servers.js'

const SOURCE = fileURLToPath(new URL('shifted-clock.c', import.meta.url))
/** Numbers of a call of the kernel. @type {Record<string, number>} */
const CLOCK_GETTIME = { x64: 228, arm64: 113 }
const COMPILERS = ['tcc', 'cc']
const NEAR_MS = 5000

/** @param {string} program */
function isThere (program) {
  try {
    execFileSync(program, ['-v'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const number = process.platform === 'linux' ? CLOCK_GETTIME[process.arch] : undefined
const compiler = number && COMPILERS.find(isThere)

/** Why there are none, for `skip`. @type {string | false} */
export const noShiftedClock = compiler ? false : 'clocks of servers cannot be moved here: install tcc or cc, on Linux (x64, arm64)'

/**
 * A clock that is right at first.
 * @param {import('tap').Test} t
 * @returns {{ env: Record<string, string>, ahead: (ms: number, connection: import('../src/store/index.js').Connection) => Promise<void> }}
 *   `env` of the servers that have it; `ahead` resolves when the server of the connection, which may keep the time for 100 ms, has it
 */
export function createClock (t) {
  const folder = mkdtempSync(join(tmpdir(), 'freshet-clock-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [library, file] = ['clock.so', 'ahead'].map((name) => join(folder, name))
  execFileSync(String(compiler), ['-shared', '-fPIC', '-w', `-DCLOCK_GETTIME=${number}`, '-o', library, SOURCE])
  writeFileSync(file, Buffer.alloc(8))
  return {
    env: { LD_PRELOAD: library, CLOCK_FILE: file },
    async ahead (ms, connection) {
      const bytes = Buffer.alloc(8)
      bytes.writeBigInt64LE(BigInt(ms))
      const open = openSync(file, 'r+')
      writeSync(open, bytes, 0, 8, 0)
      closeSync(open)
      await eventually(async () => {
        const seconds = Number(await connection.send('EVAL', "return redis.call('TIME')[1]", 0))
        return Math.abs(seconds * 1000 - Date.now() - ms) < NEAR_MS
      })
    }
  }
}
