/**
 * The commands that the lab sends besides those of writers and readers (store/commands.js): to inspect, to write in the
 * published way, to read what a load wrote, and to clean up. The lab's user may run all of them on keys that begin with lab-; the
 * lab checks this before it writes.
 */
import { capabilities, commandName, refusedRows, rowsOf } from '../../src/store/index.js'

/** What the keys of every run begin with. */
export const LAB_PREFIX = 'lab-'

/** @typedef {import('../../src/store/index.js').CommandRow} CommandRow */

/** @type {CommandRow[]} */
const ROWS = [
  { roles: [], words: () => ['SCAN', '0'], why: 'keys of a run: none before, none left behind' },
  { roles: [], words: (key) => ['SETEX', key, '1', 'v'], why: 'items, in the published way' },
  { roles: [], words: (key) => ['EXPIRE', key, '1'], why: 'sets of a minute, in the published way' },
  { roles: [], words: (key) => ['LPUSH', key, 'v'], why: 'lists' },
  { roles: [], words: (key) => ['LTRIM', key, '0', '0'], why: 'lists' },
  { roles: [], words: (key) => ['LRANGE', key, '0', '0'], why: 'lists that a load wrote' },
  { roles: [], words: (key) => ['SSCAN', key, '0'], why: 'sets that a load wrote' },
  { roles: [], words: (key) => ['PFADD', key, 'v'], why: 'HyperLogLogs' },
  { roles: [], words: (key) => ['PFCOUNT', key], why: 'HyperLogLogs that a load wrote' }
]
export const LAB_COMMANDS = Object.freeze(ROWS)

/** What the user of the lab needs, freshet-lab in docs/acl. @type {readonly CommandRow[]} */
export const LAB_USER = Object.freeze([...rowsOf('writer', 'reader'), ...LAB_COMMANDS])
/** And what it needs on replicas. @type {readonly CommandRow[]} */
const ON_REPLICAS = [...rowsOf('reader'), ...LAB_COMMANDS.filter((row) => commandName(row) === 'SCAN')]

/**
 * The last command on a connection.
 * @param {import('../../src/store/index.js').Connection} connection
 * @param {{ keyPrefix: string, isReplica: boolean, without?: string[] }} options `without`: commands that are not needed here
 * @returns {Promise<string[]>} commands that its user needs but may not run
 */
export async function lacking (connection, { keyPrefix, isReplica, without = [] }) {
  const { msetex } = await capabilities(connection).catch((error) => {
    if (error.outcome !== 'forbidden') throw error
    return { msetex: null }
  })
  // without permission for MSETEX or WATCH, items would be written in another way than measured
  const needed = (isReplica ? ON_REPLICAS : LAB_USER).filter((row) => !row.isOfCluster)
    .filter((row) => row.isWithMsetex ? msetex !== false : row.without === undefined || commandName(row) === 'WATCH')
  const refused = await refusedRows(connection, needed.filter((row) => !without.includes(commandName(row))), `${keyPrefix}{look}`)
  return refused.map(commandName)
}
