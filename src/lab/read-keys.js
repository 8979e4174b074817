/** All of a key, or of many, in pieces that a server and a connection can bear (layouts/pieces.js). While nothing is written. */
import { MAX_PIECE, createPieceSize } from '../layouts/pieces.js'

/** @typedef {import('../store/connection.js').Connection} Connection */

/**
 * @param {Connection} connection @param {string} name of a sorted set
 * @param {(member: Buffer, score: number) => void} each newest first
 * @param {(members: Buffer[], scores: number[]) => Promise<void>} [whole] a piece that is done
 */
export async function readSortedSet (connection, name, each, whole = async () => {}) {
  const size = createPieceSize()
  for (let at = 0; ;) {
    const asked = Math.min(MAX_PIECE, size.of(MAX_PIECE))
    /** @type {Buffer[]} member, score, member, score, ... */
    const flat = await connection.send('ZREVRANGE', name, at, at + asked - 1, 'WITHSCORES')
    const members = flat.filter((_, i) => i % 2 === 0)
    const scores = flat.filter((_, i) => i % 2 === 1).map((score) => Number(score.toString('latin1')))
    size.learn(members)
    members.forEach((member, i) => each(member, scores[i]))
    await whole(members, scores)
    if (members.length < asked) return
    at += members.length
  }
}

/**
 * @param {Connection} connection @param {string} name of a list
 * @param {(element: Buffer, at: number) => void} each from its head on
 */
export async function readList (connection, name, each) {
  const size = createPieceSize()
  for (let at = 0; ;) {
    const asked = Math.min(MAX_PIECE, size.of(MAX_PIECE))
    /** @type {Buffer[]} */
    const elements = await connection.send('LRANGE', name, at, at + asked - 1)
    size.learn(elements)
    elements.forEach((element, i) => each(element, at + i))
    if (elements.length < asked) return
    at += elements.length
  }
}

/**
 * @param {Connection} connection @param {string} name of a set
 * @returns {Promise<Buffer[]>} its members in no order, some perhaps twice
 */
export async function readMembers (connection, name) {
  /** @type {Buffer[]} */
  const found = []
  let cursor = '0'
  do {
    const [next, members] = await connection.send('SSCAN', name, cursor, 'COUNT', MAX_PIECE)
    for (const member of members) found.push(member)
    cursor = String(next)
  } while (cursor !== '0')
  return found
}

/**
 * @param {Connection} connection @param {Buffer} prefix of their keys @param {Buffer[]} ids
 * @param {ReturnType<typeof createPieceSize>} [size]
 * @returns {Promise<(Buffer | null)[]>} what the key of each id holds
 */
export async function readValues (connection, prefix, ids, size = createPieceSize()) {
  /** @type {(Buffer | null)[]} */
  const values = []
  while (values.length < ids.length) {
    const part = ids.slice(values.length, values.length + size.of(ids.length - values.length))
    /** @type {(Buffer | null)[]} */
    const held = await connection.send('MGET', ...part.map((id) => Buffer.concat([prefix, id])))
    size.learn(held)
    for (const value of held) values.push(value)
  }
  return values
}

/**
 * @param {Connection} connection @param {string} prefix whose characters are no pattern
 * @param {(name: Buffer) => boolean} wanted
 * @returns {Promise<string[]>} names of keys, each once, sorted
 */
export async function namesOf (connection, prefix, wanted) {
  const found = new Set()
  let cursor = '0'
  do {
    const [next, names] = await connection.send('SCAN', cursor, 'MATCH', `${prefix}*`, 'COUNT', MAX_PIECE)
    for (const name of names) if (wanted(name)) found.add(name.toString())
    cursor = String(next)
  } while (cursor !== '0')
  return [...found].sort()
}
