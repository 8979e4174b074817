/** `npm start exchanges`: three local exchanges with prices that anyone can compute again, and with faults on request. A process file. */
import { settingsOf, SettingsInvalid } from '../settings.js'
import { expectFreePort, listen } from '../src/http/index.js'
import { aborted, createLog, listenForStop, tellParent } from '../src/runtime/index.js'
import { createExchange } from './exchanges/server.js'

const NAMES = Object.freeze(['alpha', 'beta', 'gamma'])
const HOST = '127.0.0.1'
const MAX_PORT = 65_535
/** Prices depend on the seed, and change at each tick. A fault `latencyMs` is another time to reply. */
const EXCHANGE = Object.freeze({ seed: 1, tickMs: 1000, latencyMs: 20 })
const USAGE = `Usage: npm start exchanges -- [flags]

Runs three local exchanges on three ports until Ctrl-C. A price depends on exchange, symbol and time only.

Examples:
  curl http://127.0.0.1:8090/ticker/btc-usd
  curl -X PUT http://127.0.0.1:8091/faults -d '{"hang": true}'
  curl http://127.0.0.1:8091/calls`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status
 */
export async function main (from) {
  const settings = await settingsOf(from, { command: 'exchanges' }, USAGE)
  if (settings === null) return 0
  const last = settings.port + NAMES.length - 1
  if (last > MAX_PORT) throw new SettingsInvalid([`port: ${settings.port}; expected room for ${NAMES.length} ports, up to ${MAX_PORT}`])
  const stopping = listenForStop()
  const log = createLog({ level: settings.logLevel, role: 'exchanges' })
  const apps = NAMES.map((name) => createExchange({ ...EXCHANGE, name, log }))
  try {
    const urls = /** @type {Record<string, string>} */ ({})
    for (const [i, name] of NAMES.entries()) {
      const where = { host: HOST, port: settings.port && settings.port + i, setting: 'port' }
      await expectFreePort(where)
      urls[name] = await listen(apps[i], where)
    }
    for (const [name, url] of Object.entries(urls)) process.stdout.write(`exchange ${name} ${url}\n`)
    await tellParent({ event: 'up', urls })
    await aborted(stopping.signal)
  } finally {
    await Promise.all(apps.map((app) => app.close()))
    stopping.done()
  }
  return 0
}
