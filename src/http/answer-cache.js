/**
 * The last answers: to be given again while they are true, and for the time when the servers are gone. Bounded in questions
 * and in bytes; what was made longest ago goes first and is counted. A Map keeps the order of insertion, so keeping a
 * question anew makes it the newest.
 *
 * Answers above 1 MiB are on a shelf of their own, so that a few of them do not push out all the others. They are shared
 * while they are true, but they are not last answers: nobody polls them.
 */
import { Counter } from 'prom-client'

/** @typedef {import('./making.js').Answer} Answer */
/** @typedef {ReturnType<typeof createAnswerCache>} AnswerCache */
/** @typedef {{ maxQuestions: number, maxBytes: number }} Bounds */

const MIB = 1024 * 1024
const MAX_ANSWER_BYTES = MIB
const SMALL = Object.freeze({ maxQuestions: 200, maxBytes: 32 * MIB })
const LARGE = Object.freeze({ maxQuestions: 8, maxBytes: 64 * MIB })

/** @param {import('prom-client').Registry} registry */
export function createAnswerCache (registry) {
  const evicted = new Counter({ name: 'freshet_stale_evicted_total', help: 'Last answers forgotten because as many are kept as are allowed', registers: [registry] })
  const small = new Shelf(SMALL, () => evicted.inc())
  const large = new Shelf(LARGE, () => evicted.inc())

  return {
    /** @param {Answer} answer */
    keep (answer) {
      const [shelf, other] = answer.body.length > MAX_ANSWER_BYTES ? [large, small] : [small, large]
      other.drop(answer.question)
      shelf.keep(answer)
    },

    /** @param {string} question */
    drop (question) {
      small.drop(question)
      large.drop(question)
    },

    /** To be given again while it is true. @param {string} question @returns {Answer | undefined} */
    find: (question) => small.answers.get(question) ?? large.answers.get(question),

    /** For when nobody can be asked. @param {string} question @returns {Answer | undefined} */
    findLast: (question) => small.answers.get(question),

    /** It has more bytes than when it was kept. @param {Answer} answer @param {number} bytes */
    grown (answer, bytes) {
      small.grown(answer, bytes)
      large.grown(answer, bytes)
    }
  }
}

class Shelf {
  /** @type {Map<string, Answer>} */
  answers = new Map()
  #bytes = 0
  #bounds
  #whenEvicted

  /** @param {Bounds} bounds @param {() => void} whenEvicted */
  constructor (bounds, whenEvicted) {
    this.#bounds = bounds
    this.#whenEvicted = whenEvicted
  }

  /** @param {Answer} answer */
  keep (answer) {
    this.drop(answer.question)
    this.answers.set(answer.question, answer)
    this.#bytes += sizeOf(answer)
    this.#evict()
  }

  /** @param {string} question */
  drop (question) {
    const answer = this.answers.get(question)
    if (!answer) return
    this.#bytes -= sizeOf(answer)
    this.answers.delete(question)
  }

  /** @param {Answer} answer @param {number} bytes */
  grown (answer, bytes) {
    if (this.answers.get(answer.question) !== answer) return
    this.#bytes += bytes
    this.#evict()
  }

  #evict () {
    const { maxQuestions, maxBytes } = this.#bounds
    while (this.answers.size > maxQuestions || this.#bytes > maxBytes) {
      this.drop(/** @type {string} */ (this.answers.keys().next().value))
      this.#whenEvicted()
    }
  }
}

/** @param {Answer} answer */
const sizeOf = ({ question, body, zipped }) => 2 * question.length + body.length + (zipped?.length ?? 0)
