/**
 * Ways to write the same batch of layout `ids`, for experiment 008 (Lua or plain commands?): each item is a key with its record
 * and expiry, and all are members of one sorted set. Bytes are encoded in the same way and sent over the same connection, so
 * that only the server's work differs:
 *
 *     pipelined-commands   SET item:<id> record PX ttl, n times; ZADD ids score <id> ...        not atomic
 *     msetex               MULTI; MSETEX n item:<id> record ... PX ttl; ZADD; EXEC
 *     script-per-batch     EVALSHA with all item keys, scores and records (lua/append-batch.lua)
 *     script-per-item      EVALSHA, n times (lua/append-item.lua)                               atomic for each item
 *     newest-script        EVALSHA of the layout's own script, which compares each item (experiment 024)
 *
 * The layout's own batch (src/layouts/ids-batch.js) is like msetex, or the same of SETs where the server lacks MSETEX, and also
 * sets the expiry of the sorted set; with `--late newest` it is like newest-script, or watched before (src/layouts/ids-append.js).
 */
import { FreshetError } from '../errors.js'
import { argument, command, wholeCommand } from '../../src/layouts/index.js'
import { capabilities, readScript } from '../../src/store/index.js'
import { loadScript } from './scripts.js'

const MULTI = wholeCommand('MULTI')
const EXEC = wholeCommand('EXEC')
const NOTHING = Buffer.alloc(0)

/** @typedef {import('../../src/store/index.js').Connection} Connection */
/** @typedef {import('./source.js').Item} Item */
/** @typedef {import('./appends.js').Encoder} Encoder */

/**
 * @typedef {object} Form
 * @property {string} does
 * @property {(connection: Connection) => Promise<string>} [prepare] returns the digest of the script to call
 * @property {boolean} [compares] as of a load (index.js)
 * @property {(encoder: Encoder, name: string) => { items: (item: Item) => void, members: (item: Item) => void,
 *   frame: (count: number) => { head: Buffer, middle: Buffer, tail: Buffer, replies: number } }} encode a batch is head, the `items` part
 *   of each, middle, the `members` part of each, tail
 */

/** @type {Form['encode']} of commands */
const encodeSets = ({ set, key, record, expiry, member, zadd }) => ({
  items (item) {
    set()
    key(item)
    record(item)
    expiry()
  },
  members: member,
  frame: (count) => ({ head: NOTHING, middle: zadd(count), tail: NOTHING, replies: count + 1 })
})

/** @type {Form['encode']} */
const encodeMsetex = ({ key, record, member, zadd, ttlMs }) => ({
  items (item) {
    key(item)
    record(item)
  },
  members: member,
  frame: (count) => ({
    head: Buffer.concat([MULTI, command(4 + 2 * count, 'MSETEX', count)]),
    middle: Buffer.concat([Buffer.from(argument('PX') + argument(ttlMs)), zadd(count)]),
    tail: EXEC,
    replies: 4
  })
})

/** @type {NonNullable<Form['prepare']>} */
async function needMsetex (connection) {
  if ((await capabilities(connection)).msetex) return ''
  throw new FreshetError('SERVER_REFUSED',
    `the server at ${connection.address} has no MSETEX, or its user may not use it; this load needs Valkey 9.1 or Redis 8.4, or later`)
}

/** @type {Form['encode']} */
const encodeBatchCall = ({ key, recordOfMember, score, idsKey, prefixBytes, ttlMs }, name) => ({
  items: key,
  members (item) {
    score(item)
    recordOfMember(item)
  },
  frame: (count) => ({
    head: command(6 + 3 * count, 'EVALSHA', name, count + 1, idsKey),
    middle: Buffer.from(argument(prefixBytes) + argument(ttlMs)),
    tail: NOTHING,
    replies: 1
  })
})

/** @type {Readonly<Record<string, Form>>} */
export const APPEND_FORMS = Object.freeze({
  'pipelined-commands': { does: 'a SET for each item and one ZADD, pipelined; no transaction', encode: encodeSets },
  msetex: {
    does: 'one MSETEX and one ZADD, between MULTI and EXEC',
    prepare: needMsetex,
    encode: encodeMsetex
  },
  'script-per-batch': {
    does: 'one EVALSHA with all items',
    prepare: (connection) => loadScript(connection, 'append-batch'),
    encode: encodeBatchCall
  },
  'newest-script': {
    does: 'one EVALSHA of append-newest.lua with all items',
    compares: true,
    async prepare (connection) {
      await needMsetex(connection)
      const { body, sha } = readScript('append-newest')
      await connection.send('SCRIPT', 'LOAD', body)
      return sha
    },
    encode: ({ key, record, member, idsKey, ttlMs }, name) => ({
      items (item) {
        key(item)
        record(item)
      },
      members: member,
      frame: (count) => ({
        head: Buffer.concat([command(11 + 4 * count, 'EVALSHA', name, 2, idsKey, idsKey.replace(/ids$/, 'deletions')),
          ...[count, ttlMs, ttlMs, 0].map((word) => Buffer.from(argument(word)))]),
        middle: Buffer.from(argument('PX') + argument(ttlMs)),
        tail: NOTHING,
        replies: 1
      })
    })
  },
  'script-per-item': {
    does: 'an EVALSHA for each item, pipelined',
    prepare: (connection) => loadScript(connection, 'append-item'),
    encode ({ bytes, key, record, scoreOfItem, idsKey, prefixBytes, ttlMs }, name) {
      const head = command(9, 'EVALSHA', name, 2, idsKey)
      const fixed = Buffer.from(argument(prefixBytes) + argument(ttlMs))
      return {
        items (item) {
          bytes(head)
          key(item)
          bytes(fixed)
          scoreOfItem(item)
          record(item)
        },
        members () {},
        frame: (count) => ({ head: NOTHING, middle: NOTHING, tail: NOTHING, replies: count })
      }
    }
  }
})
