/** `npm start payments`: a local payment provider with a ledger, and with faults on request. A process file. */
import { settingsOf } from '../settings.js'
import { expectFreePort, listen } from '../src/http/index.js'
import { aborted, createLog, listenForStop, tellParent } from '../src/runtime/index.js'
import { createPaymentServer, openLedger } from './payments/server.js'

const HOST = '127.0.0.1'
const USAGE = `Usage: npm start payments -- [flags]

Runs a local payment provider until Ctrl-C: it authorizes, captures, voids and refunds, each at most once by the key of a payment.

Examples:
  npm start payments -- --ledger payments.ndjson --callback-url http://127.0.0.1:8081/v1/payments/callbacks --payment-secret abc
  curl http://127.0.0.1:8095/ledger
  curl -X PUT http://127.0.0.1:8095/faults -H 'content-type: application/json' -d '{"declineRate": 0.05, "silentRate": 0.01}'`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status
 */
export async function main (from) {
  const settings = await settingsOf(from, { command: 'payments' }, USAGE)
  if (settings === null) return 0
  await expectFreePort({ host: HOST, port: settings.port, setting: 'port' })
  const stopping = listenForStop()
  const log = createLog({ level: settings.logLevel, role: 'payments' })
  const ledger = openLedger(settings.ledger)
  const app = createPaymentServer({ ...settings, secret: settings.paymentSecret, ledger, log })
  try {
    const url = await listen(app, { host: HOST, port: settings.port, setting: 'port' })
    process.stdout.write(`payments ${url}\n`)
    await tellParent({ event: 'up', url })
    await aborted(stopping.signal)
  } finally {
    await app.close()
    ledger.close()
    stopping.done()
  }
  return 0
}
