/**
 * The last answers, for the time when the servers are gone. Bounded in questions and in bytes; what was used longest
 * ago goes first and is counted. A Map keeps the order of insertion, so keeping a question anew makes it the newest.
 */
import { Counter } from 'prom-client'

/** @typedef {import('./answer.js').Answer} Answer */

const MAX_QUESTIONS = 200
const MAX_BYTES = 32 * 1024 * 1024
const MAX_ANSWER_BYTES = 1024 * 1024

/** @param {import('prom-client').Registry} registry */
export function createAnswerCache (registry) {
  /** @type {Map<string, Answer>} */
  const answers = new Map()
  let bytes = 0
  const evicted = new Counter({ name: 'freshet_stale_evicted_total', help: 'Last answers forgotten because as many are kept as are allowed', registers: [registry] })

  /** @param {string} question */
  function drop (question) {
    const answer = answers.get(question)
    if (!answer) return
    bytes -= sizeOf(question, answer)
    answers.delete(question)
  }

  return {
    /** @param {string} question @param {Answer} answer larger ones are not kept */
    keep (question, answer) {
      drop(question)
      if (answer.body.length > MAX_ANSWER_BYTES) return
      bytes += sizeOf(question, answer)
      answers.set(question, answer)
      while (answers.size > MAX_QUESTIONS || bytes > MAX_BYTES) {
        drop(/** @type {string} */ (answers.keys().next().value))
        evicted.inc()
      }
    },

    /** @param {string} question @returns {Answer | null} */
    find: (question) => answers.get(question) ?? null
  }
}

/** @param {string} question @param {Answer} answer */
const sizeOf = (question, answer) => 2 * question.length + answer.body.length
