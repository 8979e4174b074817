/**
 * Which commands the lab sends to servers, beside those of writers and readers (store/commands.js): to look, to write the way
 * that was published, to read what a load left, and to clean up. Its user has all of them, on keys that begin with lab-; whoever
 * may not is told before anything is written.
 */
import { commandName, rowsOf } from '../../store/commands.js'
import { capabilities } from '../../store/nodes.js'
import { refusedRows } from '../../store/probe.js'

/** What the keys of every run begin with. */
export const LAB_PREFIX = 'lab-'

/** @typedef {import('../../store/commands.js').CommandRow} CommandRow */

/** @type {CommandRow[]} */
const ROWS = [
  { roles: [], words: () => ['SCAN', '0'], why: 'keys of a run: that there are none before, that none is left behind' },
  { roles: [], words: (key) => ['SETEX', key, '1', 'v'], why: 'items, in the published way' },
  { roles: [], words: (key) => ['EXPIRE', key, '1'], why: 'sets of a minute, in the published way' },
  { roles: [], words: (key) => ['LPUSH', key, 'v'], why: 'lists' },
  { roles: [], words: (key) => ['LTRIM', key, '0', '0'], why: 'lists' },
  { roles: [], words: (key) => ['LRANGE', key, '0', '0'], why: 'what a load left: lists' },
  { roles: [], words: (key) => ['SSCAN', key, '0'], why: 'what a load left: sets' },
  { roles: [], words: (key) => ['PFADD', key, 'v'], why: 'HyperLogLogs' },
  { roles: [], words: (key) => ['PFCOUNT', key], why: 'what a load left: HyperLogLogs' },
  { roles: [], words: (key) => ['FCALL', 'none', '1', key], why: 'functions' },
  { roles: [], words: () => ['FUNCTION', 'LOAD', 'none'], why: 'functions' },
  { roles: [], words: () => ['FUNCTION', 'LIST'], why: 'functions of a load that was ended' },
  { roles: [], words: () => ['FUNCTION', 'DELETE', 'none'], why: 'functions, when a load ends' }
]
export const LAB_COMMANDS = Object.freeze(ROWS)

/** What the user of the lab needs, freshet-lab in docs/acl. @type {readonly CommandRow[]} */
export const LAB_USER = Object.freeze([...rowsOf('writer', 'reader'), ...LAB_COMMANDS])
/** And what it needs on replicas. @type {readonly CommandRow[]} */
const ON_REPLICAS = [...rowsOf('reader'), ...LAB_COMMANDS.filter((row) => commandName(row) === 'SCAN')]

/**
 * The last thing asked of a connection.
 * @param {import('../../store/connection.js').Connection} connection
 * @param {{ keyPrefix: string, isReplica: boolean, without?: string[] }} options `without`: commands that are not needed here
 * @returns {Promise<string[]>} what its user may not run and has to
 */
export async function lacking (connection, { keyPrefix, isReplica, without = [] }) {
  const { msetex } = await capabilities(connection).catch((error) => {
    if (error.outcome !== 'forbidden') throw error
    return { msetex: null }
  })
  // where items could be sent by MSETEX and may not, figures would be those of another way of writing
  const needed = (isReplica ? ON_REPLICAS : LAB_USER).filter((row) => row.isWithMsetex ? msetex !== false : row.without === undefined)
  const refused = await refusedRows(connection, needed.filter((row) => !without.includes(commandName(row))), `${keyPrefix}{look}`)
  return refused.map(commandName)
}
