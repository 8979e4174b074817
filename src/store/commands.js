/**
 * Which commands are sent, by which role and why: one table for the permissions of docs/acl and for `npm start doctor`. A test
 * compares it with the commands that servers receive. Permissions apply inside scripts too, so the rows of a role include the
 * commands of its scripts.
 *
 *     writer   appends: `npm start writer`, `npm start gateway`, openFeed
 *     reader   reads only: `npm start reader`, openReader
 *     admin    `npm start feed`, `npm start doctor`
 *
 * Writing and reading with one address (openFeed, `npm start`) needs the rows of both. lab/servers/commands.js has the commands
 * that only the lab sends.
 *
 * @typedef {'writer' | 'reader' | 'admin'} Role
 * @typedef {{ roles: Role[], words: (key: string) => string[], why: string, without?: string, isWithMsetex?: boolean,
 *   isOfCluster?: boolean }} CommandRow
 *   `words`: an example that is harmless when it is only queued; `without`: the consequence of a missing permission, for
 *   commands that a role can do without; `isWithMsetex`: sent only to servers that have MSETEX; `isOfCluster`: only to nodes of a cluster
 */

/** @type {Role[]} */
export const ROLES = ['writer', 'reader', 'admin']
/** The users of docs/acl, and their roles. @type {Readonly<Record<string, Role[]>>} */
export const USERS = Object.freeze({
  'freshet-writer': ['writer'], 'freshet-reader': ['reader'], 'freshet-admin': ['admin'], 'freshet-library': ['writer', 'reader']
})
/** @type {Role[]} */
const WRITER = ['writer']
/** @type {Role[]} */
const READER = ['reader']
/** @type {Role[]} */
const ADMIN = ['admin']

const SHA = '0'.repeat(40)

/** @type {readonly CommandRow[]} */
const ROWS = [
  {
    roles: ROLES,
    words: () => ['CLIENT', 'SETNAME', 'freshet'],
    why: 'the name of a connection in CLIENT LIST',
    without: 'CLIENT LIST does not show which connections are Freshet\'s'
  },
  { roles: ROLES, words: () => ['INFO'], why: 'engine, role, offsets, processor time' },
  { roles: ROLES, words: () => ['ROLE'], why: 'whether a primary is still one; its replicas and their lag' },
  { roles: ROLES, words: () => ['CLUSTER', 'SLOTS'], why: 'which primary has which slot', isOfCluster: true },
  { roles: ROLES, words: () => ['CLUSTER', 'INFO'], why: 'which node knows the newest map of slots', isOfCluster: true },
  { roles: ROLES, words: () => ['READONLY'], why: 'reading from replicas in a cluster', isOfCluster: true },
  { roles: ROLES, words: (key) => ['GET', key], why: 'definitions, leases' },
  { roles: ROLES, words: (key) => ['ZCOUNT', key, '0', '1'], why: 'counting; in scripts, positions in the order' },
  { roles: ROLES, words: (key) => ['ZCARD', key], why: 'retention by count; in scripts, ranks' },
  { roles: ROLES, words: (key) => ['ZRANGE', key, '0', '0'], why: 'the next items to leave the window; in scripts, members by rank' },
  {
    roles: [...WRITER, ...READER],
    words: (key) => ['XREVRANGE', key, '+', '-', 'COUNT', '1'],
    why: 'newest entries of a log; in scripts, its end'
  },
  { roles: [...WRITER, ...READER], words: (key) => ['XRANGE', key, '-', '+', 'COUNT', '1'], why: 'the oldest entry of a log' },
  {
    roles: [...WRITER, ...READER],
    words: (key) => ['HGETALL', key],
    why: 'heartbeats of writers',
    without: 'the write rate is unknown; heartbeats of killed writers stay longer'
  },
  { roles: ROLES, words: (key) => ['ZREVRANGE', key, '0', '0'], why: 'newest items; how far items of a log are ahead of the clock' },
  {
    roles: ROLES,
    words: (key) => ['ZREVRANGEBYSCORE', key, '1', '0'],
    why: 'newest ids; in scripts, entries of a log beyond maxItems'
  },
  { roles: ROLES, words: () => ['EVALSHA_RO', SHA, '0'], why: 'pages; a key with its events' },
  { roles: ROLES, words: () => ['EVAL_RO', 'return 1', '0'], why: 'pages, after the server lost its scripts' },
  { roles: [...READER, ...ADMIN], words: (key) => ['SMEMBERS', key], why: 'names of feeds' },

  {
    roles: [...WRITER, ...READER],
    words: (key) => ['XREAD', 'COUNT', '1', 'STREAMS', key, '0'],
    why: 'following a log, and outboxes of commands'
  },
  {
    roles: [...WRITER, ...READER],
    words: (key) => ['XLEN', key],
    why: 'the approximate number of versions in a log; how many entries wait for consumers'
  },
  { roles: [...WRITER, ...READER], words: (key) => ['HGET', key, 'f'], why: 'claims of a sale, cursors of consumers' },
  { roles: READER, words: (key) => ['ZRANK', key, 'm'], why: 'places in the queue of a sale' },
  { roles: [...WRITER, ...READER], words: (key) => ['ZSCORE', key, 'm'], why: 'the end of a hold' },
  { roles: [...WRITER, ...READER], words: (key) => ['MGET', key], why: 'items by id; in scripts, replies of earlier requests' },
  { roles: READER, words: (key) => ['ZRANGEBYSCORE', key, '0', '1'], why: 'members that are newer than those of a page' },
  { roles: [...WRITER, ...READER], words: (key) => ['HMGET', key, 'f'], why: 'the generation of a partition of commands' },

  { roles: [...WRITER, ...ADMIN], words: (key) => ['SET', key, 'v'], why: 'definitions; items, leases and markers of a writer' },
  { roles: [...WRITER, ...ADMIN], words: (key) => ['SADD', key, 'v'], why: 'names of feeds' },
  { roles: [...WRITER, ...ADMIN], words: (key) => ['PEXPIRE', key, '1'], why: 'expiry of stored keys' },
  { roles: [...WRITER, ...ADMIN], words: (key) => ['UNLINK', key], why: 'items that left the window; dropping a feed' },
  { roles: [...WRITER, ...ADMIN], words: () => ['MULTI'], why: 'a batch is stored as a whole; the doctor tests permissions inside MULTI' },
  { roles: [...WRITER, ...ADMIN], words: () => ['DISCARD'], why: 'testing whether MSETEX is allowed; the doctor writes nothing' },

  { roles: WRITER, words: () => ['EXEC'], why: 'a batch is stored as a whole' },
  {
    roles: WRITER,
    words: (key) => ['MSETEX', '1', key, 'v', 'PX', '1'],
    why: 'items of a batch in one command',
    without: 'each item is a SET of its own, which costs the server two to three times as much',
    isWithMsetex: true
  },
  { roles: WRITER, words: (key) => ['MSET', key, 'v'], why: 'the same for a feed without an age limit', isWithMsetex: true },
  {
    roles: WRITER,
    words: (key) => ['WATCH', key],
    why: 'storing a batch that is newer than everything stored without comparing each item (layout ids)',
    without: 'each item is compared in a script, which costs the server 1.5 to 2.6 times as much'
  },
  { roles: WRITER, words: (key) => ['ZADD', key, '0', 'v'], why: 'the order of a feed' },
  { roles: WRITER, words: (key) => ['ZREM', key, 'v'], why: 'deletions; facts about trimmed entries of a log' },
  { roles: WRITER, words: (key) => ['ZREMRANGEBYRANK', key, '0', '0'], why: 'trimming' },
  { roles: WRITER, words: (key) => ['ZREMRANGEBYSCORE', key, '0', '0'], why: 'trimming a log' },
  { roles: WRITER, words: (key) => ['XADD', key, '*', 's', 'v'], why: 'appending to a log' },
  { roles: WRITER, words: (key) => ['XTRIM', key, 'MINID', '~', '0'], why: 'trimming a log' },
  { roles: WRITER, words: (key) => ['INCRBY', key, '1'], why: 'the number of versions; numbering writers of the same name' },
  { roles: WRITER, words: (key) => ['PTTL', key], why: 'expiry of the keys of a log' },
  { roles: WRITER, words: () => ['TIME'], why: 'the clock that stamps entries of a log' },
  { roles: WRITER, words: (key) => ['ZMSCORE', key, 'v'], why: 'comparing versions (layout ids)' },
  { roles: WRITER, words: (key) => ['GETRANGE', key, '0', '7'], why: 'comparing with deletions (layout ids)' },
  { roles: WRITER, words: () => ['EVALSHA', SHA, '0'], why: 'trimming; comparing versions' },
  { roles: WRITER, words: () => ['EVAL', 'return 1', '0'], why: 'the same, after the server lost its scripts' },
  { roles: WRITER, words: () => ['SCRIPT', 'LOAD', 'return 1'], why: 'comparing versions (layout ids)' },
  { roles: WRITER, words: (key) => ['HINCRBY', key, 'f', '1'], why: 'a final rejection no longer is one' },
  { roles: WRITER, words: (key) => ['HVALS', key], why: 'cursors of consumers, the lowest of which bounds trimming' },
  { roles: WRITER, words: (key) => ['XDEL', key, '1-0'], why: 'a dead letter that was replayed or discarded' },
  {
    roles: WRITER,
    words: (key) => ['XINFO', 'STREAM', key],
    why: 'the last id of a stream that is ahead of what is stored beside it',
    without: 'a key of a system is refused if its event stream is ahead of its state and the newest entries were deleted'
  },
  { roles: WRITER, words: (key) => ['SCARD', key], why: 'the number of feeds, before one is created (gateway)' },
  { roles: WRITER, words: (key) => ['DEL', key], why: 'returning a lease' },
  { roles: WRITER, words: (key) => ['EXISTS', key], why: 'whether a system such as auctions is in use' },
  {
    roles: WRITER,
    words: (key) => ['HSET', key, 'writer', 'heartbeat'],
    why: 'heartbeats, once a second',
    without: 'readers do not know the write rate'
  },
  {
    roles: WRITER,
    words: (key) => ['HDEL', key, 'writer'],
    why: 'removing a heartbeat',
    without: 'the heartbeat of a writer stays for ten minutes after its end'
  },
  {
    roles: WRITER,
    words: () => ['WAIT', '1', '1'],
    why: 'acknowledgement by a replica (ack: replica)',
    without: '--ack replica does not work'
  },
  { roles: WRITER, words: (key) => ['FCALL', 'none', '1', key], why: 'decisions of systems' },
  { roles: WRITER, words: () => ['FUNCTION', 'LOAD', 'none'], why: 'rules that a server does not have yet' },
  { roles: WRITER, words: () => ['FUNCTION', 'LIST'], why: 'functions of earlier versions of rules' },
  { roles: WRITER, words: () => ['FUNCTION', 'DELETE', 'none'], why: 'removing functions of earlier versions of rules' },
  {
    roles: [...WRITER, ...READER],
    words: () => ['FUNCTION', 'STATS'],
    why: 'whether a rule that never ends keeps a server busy (systems of users)',
    without: 'the process cannot stop a rule that never ends'
  },
  {
    roles: [...WRITER, ...READER],
    words: () => ['FUNCTION', 'KILL'],
    why: 'stopping a rule that never ends (systems of users)',
    without: 'the process cannot stop a rule that never ends'
  },
  {
    roles: [...WRITER, ...READER],
    words: () => ['CLIENT', 'ID'],
    why: 'the id of a connection, so that the next one can close it, and another one can end its blocking read'
  },
  {
    roles: [...WRITER, ...READER],
    words: () => ['CLIENT', 'UNBLOCK', '0'],
    why: 'ending a blocking read, so that it includes what is followed from now on',
    without: 'entries that come while a log or outbox begins to be followed arrive up to 250 ms later'
  },
  {
    roles: WRITER,
    words: () => ['CLIENT', 'KILL', 'ID', '0'],
    why: 'closing a lost connection on the server before its batches are sent again'
  },

  { roles: ADMIN, words: () => ['SCAN', '0'], why: 'keys of a dropped feed; deletions of a feed whose window grows' },
  { roles: ADMIN, words: (key) => ['SREM', key, 'v'], why: 'the name of a dropped feed' },
  { roles: ADMIN, words: (key) => ['PERSIST', key], why: 'removing the age limit of a feed' }
]
export const COMMANDS = Object.freeze(ROWS)

const CONTAINERS = ['CLIENT', 'CLUSTER', 'SCRIPT', 'FUNCTION', 'XINFO']

/** @param {CommandRow} row @returns {string} as permissions name it: ZADD, CLIENT|KILL */
export function commandName ({ words }) {
  const [name, second] = words('')
  return CONTAINERS.includes(name) ? `${name}|${second}` : name
}

/** @param {...Role} roles @returns {CommandRow[]} the rows for a user with all of them */
export const rowsOf = (...roles) => COMMANDS.filter((row) => row.roles.some((role) => roles.includes(role)))

/**
 * The permissions of a user, as ACL SETUSER and ACL files take them.
 * @param {Role | Role[]} roles
 * @param {{ keyPrefix: string, msetex: boolean }} options `msetex`: a server rejects rules for commands that it does not have
 * @returns {string}
 */
export const permissions = (roles, options) =>
  permissionsFor(rowsOf(...[roles].flat()), { ...options, isReading: String(roles) === 'reader' })

/**
 * The same for given rows.
 * @param {readonly CommandRow[]} rows
 * @param {{ keyPrefix: string, msetex: boolean, isReading?: boolean }} options `isReading`: keys are only read
 */
export function permissionsFor (rows, { keyPrefix, msetex, isReading = false }) {
  const names = rows.filter(({ isWithMsetex }) => msetex || !isWithMsetex).map(commandName)
  return [`${isReading ? '%R' : ''}~${keyPrefix}*`, '-@all', ...names.map((name) => `+${name.toLowerCase()}`)].join(' ')
}
