/**
 * `npm start dead-letters -- list | replay ID | discard ID`: entries of outboxes that failed permanently. A process file; results go
 * to standard output: a readable block each at a terminal, otherwise and with --json one JSON line each.
 */
import { SettingsInvalid, settingsOf } from '../settings.js'
import { partitionKeys, readSystem } from '../src/admission/index.js'
import { createDeadLetters } from '../src/consumers/index.js'
import { createLog, listenForStop, visible, visibleJson } from '../src/runtime/index.js'
import { withTarget } from '../src/embedded/index.js'
import { openPrimaries } from '../src/store/index.js'
import { loadSystems } from '../src/systems/list.js'

const ACTIONS = ['list', 'replay', 'discard']
const PAGE = 1000
const USAGE = `Usage: npm start dead-letters -- list
       npm start dead-letters -- replay 3:1764000000000-0
       npm start dead-letters -- discard 3:1764000000000-0 --system auctions

Lists dead letters of a system, puts one back into the outbox, or deletes one.`

/**
 * @param {{ argv: string[], env: Record<string, string | undefined> }} from
 * @returns {Promise<number>} exit status
 */
export async function main (from) {
  const settings = await settingsOf(from, { command: 'dead-letters', positionals: 2 }, USAGE)
  if (settings === null) return 0
  const { action, id } = requestOf(settings)
  const log = createLog({ level: settings.logLevel, role: 'dead-letters' })
  const stopping = listenForStop()
  try {
    return await withTarget(settings, { env: from.env, report: (line) => log.info(line), stopping }, async ({ primaryUrl }) => {
      const primaries = await openPrimaries(primaryUrl, { name: `freshet-dead-letters-${process.pid}`, deadlineMs: settings.deadlineMs })
      try {
        const textOf = process.stdout.isTTY && !settings.json ? shown : visibleJson
        for await (const result of act(primaries, settings, action, id)) process.stdout.write(textOf(result) + '\n')
        return 0
      } finally {
        await primaries.close()
      }
    })
  } finally {
    stopping.done()
  }
}

/**
 * @param {import('../src/store/index.js').Primaries} primaries @param {{ keyPrefix: string, system: string }} settings
 * @param {string} action @param {string} id
 */
async function * act (primaries, { keyPrefix, system: name }, action, id) {
  const [{ name: system, isLetterNeeded: isNeeded }] = await loadSystems([name])
  const stored = await readSystem(primaries.router, { keyPrefix, system })
  if (stored === null) return
  const { partitions } = stored
  const keyOf = partitionKeys(keyPrefix, system, stored)
  const connectionOf = (/** @type {number} */ partition) => primaries.connectionOf(keyOf(partition)(''))
  const letters = createDeadLetters({ connectionOf, keyOf, partitions, isNeeded })
  if (action === 'list') {
    for (let after = /** @type {string | null} */ (null); ;) {
      const page = await letters.list({ after, limit: PAGE })
      yield * page.items
      after = page.next
      if (after === null) return
    }
  }
  await (action === 'replay' ? letters.replay(id) : letters.discard(id))
  yield { event: action === 'replay' ? 'replayed' : 'discarded', id }
}

/** @param {any} result a dead letter, or what was done with one @returns {string} */
const shown = ({ event, id, consumer, key, attempts, at, reason, fields }) => event
  ? `${event} ${id}`
  : `${id}  ${new Date(at).toISOString()}  ${consumer}, key ${visible(key)}, ${attempts} attempts\n  ${visible(reason)}\n  ` +
    Object.entries(fields).map(([name, value]) => `${visible(name)}=${visible(String(value))}`).join(' ')

/** @param {any} settings @returns {{ action: string, id: string }} @throws {SettingsInvalid} */
function requestOf ({ positionals: [action, id] }) {
  const faults = []
  if (!ACTIONS.includes(action)) {
    faults.push(`${action === undefined ? 'the action is missing' : `unknown action ${action}`}; expected ${ACTIONS.join(' | ')}`)
  } else if (action === 'list' ? id !== undefined : id === undefined) {
    faults.push(action === 'list' ? `list accepts no id (${id})` : `${action} needs the id of a dead letter, as list shows it`)
  }
  if (faults.length) throw new SettingsInvalid(faults)
  return { action, id }
}
