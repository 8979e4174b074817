/**
 * Every version of a feed on a server, read with plain commands in pieces, past the code under test. Whatever does
 * not fit together throws.
 */
import { connectFor } from '../../servers.js'

const PIECE = 1000
const RECORD_HEAD_BYTES = 8
const MEMBER_HEAD_BYTES = 9

/** @typedef {import('../../../src/store/connection.js').Connection} Connection */

/** @type {Record<string, (connection: Connection, key: (part: string) => string) => AsyncGenerator<import('./ledger.js').Found>>} */
const READERS = {
  async * ids (connection, key) {
    let members = 0
    for await (const ids of pieces(connection, key('ids'))) {
      members += ids.length
      const records = await connection.send('MGET', ...ids.map((id) => `${key('item:')}${id}`))
      for (let i = 0; i < ids.length; i++) {
        if (records[i] === null) throw new Error(`id ${ids[i]} is in the sorted set and has no key`)
        yield { id: Number(ids[i]), n: parseInt(String(records[i].subarray(RECORD_HEAD_BYTES)), 10) }
      }
    }
    const [card, keys] = [await connection.send('ZCARD', key('ids')), await countKeys(connection, `${key('item:')}*`)]
    if (card !== members || keys !== members) throw new Error(`ZCARD says ${card}, ${members} members were read, ${keys} keys are there`)
  },

  async * values (connection, key) {
    let members = 0
    for await (const versions of pieces(connection, key('values'))) {
      members += versions.length
      for (const version of versions) {
        const idBytes = version.indexOf(0)
        yield { id: Number(version.subarray(0, idBytes)), n: parseInt(String(version.subarray(idBytes + MEMBER_HEAD_BYTES)), 10) }
      }
    }
    const card = await connection.send('ZCARD', key('values'))
    if (card !== members) throw new Error(`ZCARD says ${card}, ${members} members were read`)
  }
}

/** The members of a sorted set. @param {Connection} connection @param {string} name */
async function * pieces (connection, name) {
  for (let at = 0; ; at += PIECE) {
    /** @type {Buffer[]} */
    const members = await connection.send('ZRANGE', name, at, at + PIECE - 1)
    if (members.length) yield members
    if (members.length < PIECE) return
  }
}

/** @param {Connection} connection @param {string} pattern of one feed, whose braces are no pattern */
async function countKeys (connection, pattern) {
  const names = new Set()
  let cursor = '0'
  do {
    const [next, found] = await connection.send('SCAN', cursor, 'MATCH', pattern, 'COUNT', PIECE)
    for (const name of found) names.add(String(name))
    cursor = String(next)
  } while (cursor !== '0')
  return names.size
}

/**
 * @param {import('tap').Test} t
 * @param {{ url: string }} server
 * @param {{ layout?: string, partitions?: number }} [feed] feed `latest`
 * @returns {Promise<import('./ledger.js').Found[]>}
 */
export async function storedOn (t, { url }, { layout = 'ids', partitions = 1 } = {}) {
  const connection = await connectFor(t, url)
  const found = []
  for (let partition = 0; partition < partitions; partition++) {
    for await (const one of READERS[layout](connection, (part) => `fr:{latest:${partition}}:${part}`)) found.push(one)
  }
  connection.close()
  return found
}
