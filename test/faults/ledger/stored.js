/**
 * Every version of a feed on a server, read with plain commands in pieces, past the code under test. Whatever does
 * not fit together throws.
 */
import { partitionKey } from '../../../src/feeds/keys.js'
import { connectFor } from '../../servers.js'

const PIECE = 1000
const RECORD_HEAD_BYTES = 8
const MEMBER_HEAD_BYTES = 9
const SEGMENT_HEAD_BYTES = 59
/** @type {[number, number]} */
const SEGMENT_WRITING = [41, 59]
/** @type {[number, number]} */
const STREAM_WRITING = [12, 30]

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
  },

  async * stream (connection, key) {
    for await (const entry of writings(connection, key('stream'), STREAM_WRITING)) yield itemAt(entry, 39, entry[38])
  },

  async * segments (connection, key) {
    for await (const segment of writings(connection, key('segments'), SEGMENT_WRITING)) {
      let count = 0
      for (let at = SEGMENT_HEAD_BYTES; at < segment.length; count++) {
        const idAt = at + 12
        const end = idAt + segment[at + 8] + segment.readUIntBE(at + 9, 3)
        yield itemAt(segment.subarray(0, end), idAt, segment[at + 8])
        at = end
      }
      if (count !== segment.readUInt32BE(14)) throw new Error(`a segment says ${segment.readUInt32BE(14)} items and has ${count}`)
    }
  }
}

/** @param {Buffer} bytes up to the end of the value @param {number} idAt @param {number} idBytes */
const itemAt = (bytes, idAt, idBytes) =>
  ({ id: Number(bytes.subarray(idAt, idAt + idBytes)), n: parseInt(String(bytes.subarray(idAt + idBytes)), 10) })

/**
 * The entries of a log in order of arrival. An entry that was sent again has the same writer, epoch and sequence; it may be
 * there twice and counts once.
 * @param {Connection} connection @param {string} name @param {[number, number]} writing where these three are
 */
async function * writings (connection, name, writing) {
  const seen = new Set()
  for (let from = '-'; ;) {
    /** @type {[Buffer, Buffer[]][]} */
    const entries = await connection.send('XRANGE', name, from, '+', 'COUNT', PIECE)
    for (const [id, [, bytes]] of entries) {
      const which = bytes.toString('latin1', ...writing)
      if (!seen.has(which)) yield bytes
      seen.add(which)
      from = `(${id}`
    }
    if (entries.length < PIECE) return
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
    const key = partitionKey('fr:', { feed: 'latest', partitions }, partition)
    for await (const one of READERS[layout](connection, key)) found.push(one)
  }
  connection.close()
  return found
}
