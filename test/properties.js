/**
 * Properties with fast-check. The seed is printed; FRESHET_TEST_SEED repeats a run. `npm run regression` makes half of the runs of
 * `npm run night`, and `npm test` a third.
 */
import fc from 'fast-check'
import { isTs } from '../src/item/event-time.js'
import { nightly, scoped } from './scope.js'

/** of the runs of a property */
const SHARE = nightly(1, scoped(1 / 2, 1 / 3))
const seed = Number(process.env.FRESHET_TEST_SEED ?? Date.now() % 2 ** 31)

/**
 * @param {import('tap').Test} t
 * @param {fc.IRawProperty<any, any>} property
 * @param {{ runs?: number, timeLimitMs?: number }} [options] at `timeLimitMs` it stops with the runs made so far
 */
export async function holds (t, property, { runs = 200, timeLimitMs = 15_000 } = {}) {
  const wanted = { seed, numRuns: Math.ceil(runs * SHARE), interruptAfterTimeLimit: timeLimitMs }
  const inTime = await fc.check(property, wanted)
  // on a busy machine, one takes what it takes
  const result = inTime.interrupted && inTime.numRuns === 0 ? await fc.check(property, { seed, numRuns: 1 }) : inTime
  t.comment(`seed ${seed}, ${result.numRuns} runs`)
  t.equal(result.failed ? fc.defaultReportMessage(result) : 'holds', 'holds', 'holds for every example')
}

/** An id as bytes: any text that the core takes as one. */
export const anyId = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  .map((text) => Buffer.from(text)).filter((bytes) => bytes.length <= 128)

/** A ts anywhere in its range, its corners more often. */
export const anyTs = fc.oneof(
  fc.integer({ min: 0, max: 2 ** 41 - 1 }),
  fc.constantFrom(0, 1, 2 ** 32 - 1, 2 ** 32, 2 ** 40 - 1, 2 ** 40, 2 ** 41 - 2, 2 ** 41 - 1))

/** A ts that writers accept as it is: none that looks like seconds. */
export const anyAcceptedTs = anyTs.filter(isTs)

export const anySeq = fc.oneof(fc.integer({ min: 0, max: 4095 }), fc.constantFrom(0, 1, 4094, 4095))

export const anyPlace = fc.record({ ts: anyTs, seq: anySeq, id: anyId })
