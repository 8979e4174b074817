/** Reads whole keys in batches of bounded size (layouts/read-size.js), while nothing is written. */
import { createReadSize, MAX_READ } from '../../src/layouts/index.js'

/** @typedef {import('../../src/store/index.js').Connection} Connection */

/**
 * @param {Connection} connection @param {string} name of a sorted set
 * @param {(member: Buffer, score: number) => void} each newest first
 * @param {(members: Buffer[], scores: number[]) => Promise<void>} [whole] after each batch
 */
export async function readSortedSet (connection, name, each, whole = async () => {}) {
  const size = createReadSize()
  for (let at = 0; ;) {
    const requested = Math.min(MAX_READ, size.of(MAX_READ))
    /** @type {Buffer[]} member, score, member, score, ... */
    const flat = await connection.send('ZREVRANGE', name, at, at + requested - 1, 'WITHSCORES')
    const members = flat.filter((_, i) => i % 2 === 0)
    const scores = flat.filter((_, i) => i % 2 === 1).map((score) => Number(score.toString('latin1')))
    size.learn(members)
    members.forEach((member, i) => each(member, scores[i]))
    await whole(members, scores)
    if (members.length < requested) return
    at += members.length
  }
}

/**
 * @param {Connection} connection @param {string} name of a list
 * @param {(element: Buffer, at: number) => void} each from its head
 */
export async function readList (connection, name, each) {
  const size = createReadSize()
  for (let at = 0; ;) {
    const requested = Math.min(MAX_READ, size.of(MAX_READ))
    /** @type {Buffer[]} */
    const elements = await connection.send('LRANGE', name, at, at + requested - 1)
    size.learn(elements)
    elements.forEach((element, i) => each(element, at + i))
    if (elements.length < requested) return
    at += elements.length
  }
}

/**
 * @param {Connection} connection @param {string} name of a set
 * @returns {Promise<Buffer[]>} its members in any order, possibly with duplicates
 */
export async function readMembers (connection, name) {
  /** @type {Buffer[]} */
  const found = []
  let cursor = '0'
  do {
    const [next, members] = await connection.send('SSCAN', name, cursor, 'COUNT', MAX_READ)
    for (const member of members) found.push(member)
    cursor = String(next)
  } while (cursor !== '0')
  return found
}

/**
 * @param {Connection} connection @param {Buffer} prefix of their keys @param {Buffer[]} ids
 * @param {ReturnType<typeof createReadSize>} [size]
 * @returns {Promise<(Buffer | null)[]>} the value of each id's key
 */
export async function readValues (connection, prefix, ids, size = createReadSize()) {
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
 * @param {Connection} connection @param {string} prefix without pattern characters
 * @param {(name: Buffer) => boolean} wanted
 * @returns {Promise<string[]>} names of keys, each once, sorted
 */
export async function namesOf (connection, prefix, wanted) {
  const found = new Set()
  let cursor = '0'
  do {
    const [next, names] = await connection.send('SCAN', cursor, 'MATCH', `${prefix}*`, 'COUNT', MAX_READ)
    for (const name of names) if (wanted(name)) found.add(name.toString())
    cursor = String(next)
  } while (cursor !== '0')
  return [...found].sort()
}
