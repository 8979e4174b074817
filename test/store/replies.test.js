import t from 'tap'
import { ERRORS, FreshetError, publicReason } from '../../src/errors.js'
import { fromReply } from '../../src/store/replies.js'

/** @type {[string, string, string][]} */
const REPLIES = [
  ['OOM command not allowed when used memory > \'maxmemory\'.', 'SERVER_FULL', 'full'],
  ['WRONGTYPE Operation against a key holding the wrong kind of value', 'KEY_HOLDS_OTHER', 'refused'],
  ['READONLY You can\'t write against a read only replica.', 'SERVER_LOST', 'over'],
  ['LOADING Redis is loading the dataset in memory', 'SERVER_LOST', 'over'],
  ['MASTERDOWN Link with MASTER is down', 'SERVER_LOST', 'over'],
  ['NOSCRIPT No matching script.', 'SERVER_LOST', 'over'],
  ['BUSY Redis is busy running a script.', 'SERVER_LOST', 'over'],
  ['MISCONF Errors writing to the AOF file', 'SERVER_FULL', 'full'],
  ['CLUSTERDOWN The cluster is down', 'CLUSTER_UNSUPPORTED', 'refused'],
  ['MOVED 3999 127.0.0.1:6381', 'CLUSTER_UNSUPPORTED', 'refused'],
  ['CROSSSLOT Keys in request don\'t hash to the same slot', 'CLUSTER_UNSUPPORTED', 'refused'],
  ['NOREPLICAS Not enough good replicas to write.', 'SERVER_FULL', 'full'],
  ['NOAUTH Authentication required.', 'SERVER_REFUSED', 'forbidden'],
  ['NOPERM User bus has no permissions to run the \'set\' command', 'SERVER_REFUSED', 'forbidden'],
  ['WRONGPASS invalid username-password pair or user is disabled.', 'SERVER_REFUSED', 'forbidden'],
  ['ERR ACL failure in script: User u has no permissions to run the \'set\' command script: on @user_script:1.', 'SERVER_REFUSED',
    'forbidden'],
  ['ERR The user executing the script can\'t run this command or subcommand script: 0, on @user_script:1.', 'SERVER_REFUSED', 'forbidden'],
  ['UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)', 'SERVER_LOST', 'over'],
  ['ERR WAIT cannot be used with replica instances. Please also note that', 'SERVER_LOST', 'over'],
  ['EXECABORT Transaction discarded because of: OOM command not allowed when used memory > \'maxmemory\'.', 'SERVER_FULL', 'full'],
  ['EXECABORT Transaction discarded because of: NOREPLICAS Not enough good replicas to write.', 'SERVER_FULL', 'full'],
  ['EXECABORT Transaction discarded because of: READONLY You can\'t write against a read only replica.', 'SERVER_LOST', 'over'],
  ['EXECABORT Transaction discarded because of previous errors.', 'SERVER_REFUSED', 'refused'],
  ['ERR syntax error', 'SERVER_REFUSED', 'refused'],
  ['toString is not an error word', 'SERVER_REFUSED', 'refused'],
  ['', 'SERVER_REFUSED', 'refused']
]

t.test('the text of a server is cut at 4 KiB, and means the same', async (t) => {
  const error = fromReply(new Error(`NOPERM User bus has no permissions to run the '${'x'.repeat(5e6)}' command`), 'host:1')
  t.match(error, { code: 'SERVER_REFUSED', outcome: 'forbidden' })
  for (const text of [error.message, publicReason(error)]) t.ok(Buffer.byteLength(text) <= 4096, `${text.length} characters`)
})

t.test('a script on a node that lost its slot did nothing', async (t) => {
  for (const text of ['ERR Attempted to access a non local key in a cluster node script: on @user_script:21.',
    'ERR Script attempted to access a non local key in a cluster node script: 0, on @user_script:1.']) {
    t.match(fromReply(new Error(text), 'host:1', { isOfCluster: true }), { code: 'SERVER_LOST', outcome: 'later' }, text)
  }
})

for (const [text, code, outcome] of REPLIES) {
  t.test(`"${text}" means ${code}, ${outcome}`, async (t) => {
    const error = Object.assign(new Error(text), { command: { name: 'set', args: ['key', 'secret-value'] } })
    const found = fromReply(error, 'host:1')
    t.match(found, { code, outcome, message: /^the server at host:1 (answered: |runs as a node of a cluster )/ })
    t.notOk(JSON.stringify({ ...found, message: found.message, cause: found.cause }).includes('secret-value'))
  })
}

t.test('in a cluster, CLUSTERDOWN is back-pressure, as a lagging log of ElastiCache gives it', async (t) => {
  for (const text of ['CLUSTERDOWN The log is behind', 'EXECABORT Transaction discarded because of: CLUSTERDOWN The log is behind']) {
    t.match(fromReply(new Error(text), 'host:1', { isOfCluster: true }), { code: 'SERVER_LOST', outcome: 'later' })
  }
})

t.test('arguments in the reply are removed', async (t) => {
  const found = fromReply(new Error('ERR unknown command \'NOPE\', with args beginning with: \'secret-value\' \n\'more\' '), 'host:1')
  t.equal(found.message, 'the server at host:1 answered: ERR unknown command \'NOPE\'')
})

t.test('a FreshetError stays as it is', async (t) => {
  const error = new FreshetError('SERVER_LOST', 'gone', { outcome: 'over' })
  t.equal(fromReply(error, 'host:1'), error)
})

/** @type {[string, string | undefined][]} */
const PUBLIC_WHY = [
  ['NOPERM this user has no permissions to run the \'smembers\' command', 'the user may not run smembers'],
  ['NOPERM User secret-user has no permissions to run the \'client|setname\' command', 'the user may not run client|setname'],
  ['ERR ACL failure in script: User secret-user has no permissions to run the \'set\' command script: on @user_script:1.',
    'the user may not run set'],
  ['NOPERM this user has no permissions to access one of the keys used as arguments', 'the user may not access a key that is needed'],
  ['NOPERM No permissions to access a channel', 'the user may not access a channel that is needed'],
  ['ERR The user executing the script can\'t access at least one of the keys mentioned in the command arguments script: 0',
    'the user may not access a key that is needed'],
  ['ERR The user executing the script can\'t run this command or subcommand script: 0, on @user_script:1.',
    'the user may not run a command that a script needs'],
  ['NOPERM User secret-user has no permissions to access the \'secret-key\' key', undefined],
  ['WRONGPASS invalid username-password pair or user is disabled.', undefined],
  ['OOM command not allowed', undefined]
]

t.test('the public reason names the missing permission, and neither user nor key', async (t) => {
  for (const [text, why] of PUBLIC_WHY) {
    const found = /** @type {any} */ (fromReply(new Error(text), 'host:1'))
    t.equal(found.publicWhy, why)
    t.equal(publicReason(found), `${found.code}: ${why ?? ERRORS[found.code].meaning}`)
  }
})
