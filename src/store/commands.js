/**
 * Which commands are sent, by whom and why: one table for the permissions of docs/acl and for what `npm start doctor`
 * looks for. A test holds it to what servers really see, both ways. Permissions hold inside scripts too, so what a
 * script calls is in its role's rows.
 *
 *     writer   appends: `npm start writer`, `npm start gateway`, openFeed
 *     reader   asks, changes nothing: `npm start reader`, openReader
 *     admin    `npm start feed`, `npm start doctor`
 *
 * Whoever writes and reads with one address (openFeed, `npm start`) needs the rows of both. What the lab sends beyond them
 * stands in src/lab/servers/commands.js.
 *
 * @typedef {'writer' | 'reader' | 'admin'} Role
 * @typedef {{ roles: Role[], words: (key: string) => string[], why: string, without?: string, isWithMsetex?: boolean }} CommandRow
 *   `words`: an example that does no harm when it is only queued; `without`: what is lost where it may not be run, for
 *   commands that a role can do without; `isWithMsetex`: sent only to servers that have MSETEX
 */

/** @type {Role[]} */
export const ROLES = ['writer', 'reader', 'admin']
/** The users of docs/acl, and their roles. @type {Readonly<Record<string, Role[]>>} */
export const USERS = Object.freeze({ 'freshet-writer': ['writer'], 'freshet-reader': ['reader'], 'freshet-admin': ['admin'], 'freshet-library': ['writer', 'reader'] })
/** @type {Role[]} */
const WRITER = ['writer']
/** @type {Role[]} */
const READER = ['reader']
/** @type {Role[]} */
const ADMIN = ['admin']

const SHA = '0'.repeat(40)
const NO_LATE_DROP = '--late drop does not work'

/** @type {readonly CommandRow[]} */
const ROWS = [
  { roles: ROLES, words: () => ['CLIENT', 'SETNAME', 'freshet'], why: 'who a connection is, in CLIENT LIST', without: 'CLIENT LIST does not tell whose a connection is' },
  { roles: ROLES, words: () => ['INFO'], why: 'engine, role, offsets, processor time' },
  { roles: ROLES, words: () => ['ROLE'], why: 'whether a primary is one still; which replicas there are, and how far behind' },
  { roles: ROLES, words: (key) => ['GET', key], why: 'definitions, leases' },
  { roles: ROLES, words: (key) => ['ZCOUNT', key, '0', '1'], why: 'counting; in scripts, places in the order' },
  { roles: ROLES, words: (key) => ['ZCARD', key], why: 'retention by count; in scripts, ranks' },
  { roles: ROLES, words: (key) => ['ZRANGE', key, '0', '0'], why: 'what leaves the window next; in scripts, members by rank' },
  { roles: [...WRITER, ...READER], words: (key) => ['XREVRANGE', key, '+', '-', 'COUNT', '1'], why: 'newest entries of a log; in scripts, where it ends' },
  { roles: [...WRITER, ...READER], words: (key) => ['XRANGE', key, '-', '+', 'COUNT', '1'], why: 'the oldest entry of a log' },
  { roles: [...WRITER, ...READER], words: (key) => ['HGETALL', key], why: 'what writers note of themselves', without: 'how many items a second are written is not known; notes of killed writers stay longer' },
  { roles: ROLES, words: (key) => ['ZREVRANGE', key, '0', '0'], why: 'newest items; how far items of a log are ahead' },
  { roles: ROLES, words: (key) => ['ZREVRANGEBYSCORE', key, '1', '0'], why: 'newest ids; in scripts, which entries of a log are beyond the number kept' },
  { roles: [...READER, ...ADMIN], words: () => ['EVALSHA_RO', SHA, '0'], why: 'pages' },
  { roles: [...READER, ...ADMIN], words: () => ['EVAL_RO', 'return 1', '0'], why: 'pages, after the server lost its scripts' },
  { roles: [...READER, ...ADMIN], words: (key) => ['SMEMBERS', key], why: 'names of feeds' },

  { roles: READER, words: (key) => ['XREAD', 'COUNT', '1', 'STREAMS', key, '0'], why: 'following a log' },
  { roles: READER, words: (key) => ['XLEN', key], why: 'about how many versions a log holds' },
  { roles: READER, words: (key) => ['MGET', key], why: 'items by id' },
  { roles: READER, words: (key) => ['ZRANGEBYSCORE', key, '0', '1'], why: 'changes since a time' },

  { roles: [...WRITER, ...ADMIN], words: (key) => ['SET', key, 'v'], why: 'definitions; items, leases and markers of a writer' },
  { roles: [...WRITER, ...ADMIN], words: (key) => ['PEXPIRE', key, '1'], why: 'expiry of what is stored' },
  { roles: [...WRITER, ...ADMIN], words: (key) => ['UNLINK', key], why: 'items that left the window; a feed that is dropped' },
  { roles: [...WRITER, ...ADMIN], words: () => ['MULTI'], why: 'a batch is stored whole; the doctor looks inside MULTI' },
  { roles: [...WRITER, ...ADMIN], words: () => ['DISCARD'], why: 'asking whether MSETEX may be used; the doctor writes nothing' },

  { roles: WRITER, words: () => ['EXEC'], why: 'a batch is stored whole' },
  { roles: WRITER, words: (key) => ['MSETEX', '1', key, 'v', 'PX', '1'], why: 'items of a batch in one command', without: 'each item is a SET: two to three times the work for the server', isWithMsetex: true },
  { roles: WRITER, words: (key) => ['MSET', key, 'v'], why: 'the same where the feed has no age limit', isWithMsetex: true },
  { roles: WRITER, words: (key) => ['ZADD', key, '0', 'v'], why: 'the order of a feed' },
  { roles: WRITER, words: (key) => ['ZREM', key, 'v'], why: 'deletions; what was said of a log that is trimmed' },
  { roles: WRITER, words: (key) => ['ZREMRANGEBYRANK', key, '0', '0'], why: 'trimming' },
  { roles: WRITER, words: (key) => ['ZREMRANGEBYSCORE', key, '0', '0'], why: 'trimming a log' },
  { roles: WRITER, words: (key) => ['XADD', key, '*', 's', 'v'], why: 'appending to a log' },
  { roles: WRITER, words: (key) => ['XTRIM', key, 'MINID', '~', '0'], why: 'trimming a log' },
  { roles: WRITER, words: (key) => ['INCRBY', key, '1'], why: 'how many versions came; which writer of a name it is' },
  { roles: WRITER, words: (key) => ['PTTL', key], why: 'expiry of what belongs to a log' },
  { roles: WRITER, words: () => ['TIME'], why: 'the clock by which entries of a log arrive' },
  { roles: WRITER, words: (key) => ['ZMSCORE', key, 'v'], why: 'comparing versions (late: drop)', without: NO_LATE_DROP },
  { roles: WRITER, words: (key) => ['GETRANGE', key, '0', '7'], why: 'comparing with deletions (late: drop)', without: NO_LATE_DROP },
  { roles: WRITER, words: () => ['EVALSHA', SHA, '0'], why: 'trimming; comparing versions' },
  { roles: WRITER, words: () => ['EVAL', 'return 1', '0'], why: 'the same, after the server lost its scripts' },
  { roles: WRITER, words: () => ['SCRIPT', 'LOAD', 'return 1'], why: 'comparing versions (late: drop)', without: NO_LATE_DROP },
  { roles: WRITER, words: (key) => ['SADD', key, 'v'], why: 'names of feeds' },
  { roles: WRITER, words: (key) => ['SCARD', key], why: 'how many feeds there are, before one is created (gateway)' },
  { roles: WRITER, words: (key) => ['DEL', key], why: 'giving a lease back' },
  { roles: WRITER, words: (key) => ['HSET', key, 'writer', 'note'], why: 'noting how much was written, once a second', without: 'how many items a second are written is not known to readers' },
  { roles: WRITER, words: (key) => ['HDEL', key, 'writer'], why: 'taking the note back', without: 'what a writer noted stays for ten minutes' },
  { roles: WRITER, words: () => ['WAIT', '1', '1'], why: 'acknowledged by a replica (ack: replica)', without: '--ack replica does not work' },
  { roles: WRITER, words: () => ['CLIENT', 'ID'], why: 'which connection the next one has to end' },
  { roles: WRITER, words: () => ['CLIENT', 'KILL', 'ID', '0'], why: 'ending what a lost connection had sent, before it is sent again' },

  { roles: ADMIN, words: () => ['SCAN', '0'], why: 'keys of a feed that is dropped; deletions of one whose window is widened' },
  { roles: ADMIN, words: (key) => ['SREM', key, 'v'], why: 'the name of a feed that is dropped' },
  { roles: ADMIN, words: (key) => ['PERSIST', key], why: 'a window that is opened for ever' }
]
export const COMMANDS = Object.freeze(ROWS)

const CONTAINERS = ['CLIENT', 'SCRIPT', 'FUNCTION']

/** @param {CommandRow} row @returns {string} as permissions name it: ZADD, CLIENT|KILL */
export function commandName ({ words }) {
  const [name, second] = words('')
  return CONTAINERS.includes(name) ? `${name}|${second}` : name
}

/** @param {...Role} roles @returns {CommandRow[]} what a user needs that has all of them */
export const rowsOf = (...roles) => COMMANDS.filter((row) => row.roles.some((role) => roles.includes(role)))

/**
 * The permissions of a user, as ACL SETUSER and ACL files take them.
 * @param {Role | Role[]} roles
 * @param {{ keyPrefix: string, msetex: boolean }} options `msetex`: a server refuses rules about commands it does not have
 * @returns {string}
 */
export const permissions = (roles, options) => permissionsFor(rowsOf(...[roles].flat()), { ...options, isReading: String(roles) === 'reader' })

/** The same for any commands. @param {readonly CommandRow[]} rows @param {{ keyPrefix: string, msetex: boolean, isReading?: boolean }} options `isReading`: keys are read only */
export function permissionsFor (rows, { keyPrefix, msetex, isReading = false }) {
  const names = rows.filter(({ isWithMsetex }) => msetex || !isWithMsetex).map(commandName)
  return [`${isReading ? '%R' : ''}~${keyPrefix}*`, '-@all', ...names.map((name) => `+${name.toLowerCase()}`)].join(' ')
}
