/** `npm start servers`: the embedded servers in the foreground. */
import { settingsOf } from '../settings.js'
import { aborted, listenForStop } from '../src/runtime/index.js'
import { formOf, ROOT, useEmbeddedServers } from '../src/embedded/index.js'

const USAGE = `Usage: npm start servers -- [flags]

Runs one primary and two replicas, with --sentinel also three Sentinels that watch them, or with --cluster a cluster
of three primaries with a replica each, which the other commands of this checkout share. Prints their addresses,
primaries first. Ctrl-C stops them unless another command still uses them.`

/** @param {string} line */
const print = (line) => process.stdout.write(line + '\n')
/** @param {string} line */
const report = (line) => process.stderr.write(`freshet servers: ${line}\n`)

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} the exit status
 * @throws {import('../settings.js').SettingsInvalid | import('../src/errors.js').FreshetError}
 */
export async function main (from) {
  const settings = await settingsOf(from, { command: 'servers', layouts: ['ids'], acks: ['primary'] }, USAGE)
  if (settings === null) return 0
  /** @type {Error | undefined} */
  let failure
  const { signal, stop, done } = listenForStop()
  try {
    const servers = await useEmbeddedServers({
      root: ROOT,
      named: settings.server,
      form: formOf(settings),
      cacheDir: settings.cacheDir ?? undefined,
      env: from.env,
      signal,
      report,
      onFailure (error) {
        failure = error
        stop('servers failed')
      }
    })
    for (const url of servers.primaries) print(`primary ${url}`)
    for (const url of servers.replicas) print(`replica ${url}`)
    if (servers.sentinel) print(`sentinel ${servers.sentinel}`)
    await aborted(signal)
    await servers.release()
  } catch (error) {
    if (!signal.aborted) throw error
  } finally {
    done()
  }
  if (failure) throw failure
  return 0
}
