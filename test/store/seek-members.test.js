/**
 * Members next to a place, and between two, are those that a sort of all members finds there.
 */
import t from 'tap'
import fc from 'fast-check'
import { seekMembers } from '../../src/layouts/seek.js'
import { holds } from '../properties.js'
import { connectFor, engineName, startServer } from '../servers.js'
import { scopedEngines } from '../scope.js'

const anyBytes = fc.uint8Array({ minLength: 1, maxLength: 3 }).map((bytes) =>
  Buffer.from(bytes.map((byte) => byte % 5 === 0 ? 0 : byte % 7 === 0 ? 255 : byte % 3 + 97)))
const anyScore = fc.constantFrom(0, 1, 1.000244140625, 1_750_000_000_000, 1_750_000_000_000.5)
const anyMember = fc.record({ score: anyScore, bytes: anyBytes })

/** @typedef {{ score: number, bytes: Buffer }} Member */
/** @param {Member} a @param {Member} b */
const oldestFirst = (a, b) => a.score - b.score || Buffer.compare(a.bytes, b.bytes)

for (const engine of await scopedEngines()) {
  t.test(engineName(engine), async (t) => {
    const server = await startServer(t, { engine })
    const connection = await connectFor(t, server.url)
    let sets = 0

    await t.test('older ones newest first, newer ones oldest first, and how many are not there', (t) =>
      holds(t, fc.asyncProperty(fc.uniqueArray(anyMember, {
        selector: ({ bytes }) => bytes.toString('hex'), maxLength: 40
      }), anyMember, fc.integer({ min: 1, max: 12 }), async (members, place, wanted) => {
        const key = `set-${++sets}`
        const sorted = members.toSorted(oldestFirst)
        if (members.length) await connection.send('ZADD', key, ...members.flatMap(({ score, bytes }) => [score, bytes]))
        for (const side of /** @type {const} */ (['older', 'newer'])) {
          const beside = side === 'newer'
            ? sorted.filter((member) => oldestFirst(member, place) > 0)
            : sorted.filter((member) => oldestFirst(member, place) < 0).reverse()
          const [others, flat] = await connection.runScript('seek-members', [key], [place.score, place.bytes, side, wanted])
          const found = flat.map((/** @type {Buffer} */ word) => word.toString('hex')).join()
          const right = beside.slice(0, wanted)
            .flatMap(({ score, bytes }) => [bytes.toString('hex'), Buffer.from(String(score)).toString('hex')]).join()
          if (others !== sorted.length - beside.length || found !== right) {
            throw new Error(`${side}: ${others} ${found}, wanted ${sorted.length - beside.length} ${right}`)
          }
          for (const room of [0, 1, 3, 50]) {
            const ranged = (await seekMembers(connection, key, place, side, wanted, room)).map((word) => word.toString('hex')).join()
            if (ranged !== right) throw new Error(`${side} with room for ${room}: ${ranged}, wanted ${right}`)
          }
        }
      }), { runs: 150 }))

    await t.test('of one score: the last one at or before each place', (t) =>
      holds(t, fc.asyncProperty(fc.uniqueArray(anyMember, {
        selector: ({ bytes }) => bytes.toString('hex'), maxLength: 60
      }), anyScore, fc.array(anyBytes, { minLength: 1, maxLength: 12 }), async (members, score, given) => {
        const key = `set-${++sets}`
        if (members.length) await connection.send('ZADD', key, ...members.flatMap(({ score, bytes }) => [score, bytes]))
        const places = given.toSorted(Buffer.compare)
        const found = await connection.runScript('find-members', [key], [score, ...places])
        const ofScore = members.filter((one) => one.score === score).toSorted(oldestFirst)
        return places.every((place, i) => {
          const right = ofScore.findLast(({ bytes }) => Buffer.compare(bytes, place) <= 0)?.bytes ?? null
          return right === null ? found[i] === null : right.equals(found[i])
        })
      }), { runs: 150 }))

    await t.test('between two places: the older one and what is newer, but not the newer one', (t) =>
      holds(t, fc.asyncProperty(fc.uniqueArray(anyMember, {
        selector: ({ bytes }) => bytes.toString('hex'), maxLength: 40
      }), fc.option(anyMember), anyMember, fc.integer({ min: 1, max: 12 }), async (members, newer, older, wanted) => {
        const key = `set-${++sets}`
        if (members.length) await connection.send('ZADD', key, ...members.flatMap(({ score, bytes }) => [score, bytes]))
        const between = members.toSorted(oldestFirst).reverse()
          .filter((member) => (newer === null || oldestFirst(member, newer) < 0) && oldestFirst(member, older) >= 0)
        const [count, flat] = await connection.runScript('members-between', [key],
          [newer?.score ?? '+inf', newer?.bytes ?? '', older.score, older.bytes, wanted])
        const found = flat.map((/** @type {Buffer} */ word) => word.toString('hex')).join()
        const right = between.slice(0, wanted)
          .flatMap(({ score, bytes }) => [bytes.toString('hex'), Buffer.from(String(score)).toString('hex')]).join()
        if (count !== between.length || found !== right) throw new Error(`${count} ${found}, wanted ${between.length} ${right}`)
      }), { runs: 150 }))
  })
}
