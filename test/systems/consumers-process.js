/**
 * `npm start consumers` with short leases, for tests that kill or stop it: killable-consumers.js forks it, and it ends with the process
 * that did. A process file.
 */
import { printable, settingsOf } from '../../settings.js'
import { runProcess } from '../../src/runtime/index.js'
import { serve } from '../../writers/consumers.js'

const LEASE_MS = 600

const from = { argv: process.argv.slice(2), env: process.env }
process.exitCode = await runProcess(from, {
  table: { printable, settingsOf },
  context: { command: 'consumers', layouts: [], acks: [] },
  usage: '',
  stopping: 'stopping: partitions are given back'
}, (settings, target, log, signal) => serve(settings, target, log, signal, { leaseMs: LEASE_MS }))
