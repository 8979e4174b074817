/**
 * Counted loads of decisions: calls of a fixed number of commands, one call at a time, as the batcher of a process sends them
 * (src/admission). Every command has a request id and is accepted.
 */
import { readFile } from 'node:fs/promises'
import { admissionKey, admit, createAgreement, createOwnRules, decisionOf, prepare } from '../../src/admission/index.js'
import { createPrimaries } from '../../src/store/index.js'
import { FreshetError } from '../errors.js'
import { COMMANDS, HALL, KEYS, keyOf } from '../systems/own/subjects.js'

const DEADLINE_MS = 60_000
const REQUEST_MS = 600_000
const CLOSES_AFTER_MS = 3_600_000
const SYSTEM = 'counted'
const PREFIX = 'lab:'
const TIERS = '60000 90000 120000 60000 90000 120000 60000 90000 120000'

/** @typedef {import('./count.js').Load} Load */
/** @typedef {import('../../src/admission/index.js').OwnRule} OwnRule */
/** @typedef {{ key: string, args: string[] }} Asked */
/** @typedef {{ rule: string, own?: Record<string, OwnRule>, prepared: Asked[], next: () => Asked[] }} Work `prepared`: once, one by one */

/**
 * Commands on KEYS keys in turn.
 * @param {'max' | 'bounded' | 'hall'} rule @param {number} size commands of a call @returns {Omit<Work, 'own'>}
 */
function onKeys (rule, size) {
  const { create, command } = COMMANDS[rule]
  const closeAt = String(Date.now() + CLOSES_AFTER_MS)
  let n = 0
  const one = () => ({ key: keyOf(n), args: command(n++) })
  return {
    rule,
    prepared: Array.from({ length: KEYS }, (_, i) => ({ key: keyOf(i), args: create(closeAt) })),
    next: () => Array.from({ length: size }, one)
  }
}

/** Orders of a call go through their five steps together. @param {number} size @returns {Omit<Work, 'own'>} */
function steps (size) {
  const stages = [['place', 'ann', '100', '[]', '', '600000', ''], ['held'], ['capture_requested', 'a'], ['captured'], ['confirmed']]
  let call = 0
  return {
    rule: 'step',
    prepared: [],
    next () {
      const [block, stage] = [Math.floor(call / stages.length), call++ % stages.length]
      return Array.from({ length: size }, (_, i) => ({ key: `o${block * size + i + 1_000_000}`, args: stages[stage] }))
    }
  }
}

/** Prices of KEYS assets in turn. @param {number} size @returns {Omit<Work, 'own'>} */
function prices (size) {
  const beganMs = Date.now() - CLOSES_AFTER_MS
  let n = 0
  function one () {
    const startedMs = String(beganMs + Math.floor(n / KEYS))
    return { key: keyOf(n++), args: ['price', startedMs, '101.25', '["a","b","c"]', startedMs] }
  }
  return {
    rule: 'latest',
    prepared: Array.from({ length: KEYS }, (_, i) => ({ key: keyOf(i), args: ['set', 'hot', '1', TIERS, String(i)] })),
    next: () => Array.from({ length: size }, one)
  }
}

/** New customers. @param {number} size @returns {Omit<Work, 'own'>} */
function creations (size) {
  let n = 1_000_000
  const one = () => ({ key: `c${n++}`, args: ['create', '{"name":"ann"}'] })
  return { rule: 'once', prepared: [], next: () => Array.from({ length: size }, one) }
}

/** @type {Readonly<Record<string, (size: number) => Promise<Work>>>} */
const WORK = Object.freeze({
  max: async (size) => onKeys('max', size),
  bounded: async (size) => onKeys('bounded', size),
  step: async (size) => steps(size),
  latest: async (size) => prices(size),
  once: async (size) => creations(size),
  hall: async (size) => ({ ...onKeys('hall', size), own: { hall: { text: await readFile(HALL, 'utf8'), version: 1 } } })
})

/** @param {string} name of WORK @param {number} size commands of a call @returns {Load['open']} */
export const openDecisions = (name, size) => async ({ primaryUrl }) => {
  const { rule, own: rules, prepared, next } = await WORK[name](size)
  const ruleSet = rules && createOwnRules({ keyPrefix: PREFIX, system: SYSTEM, rules })
  const routes = createPrimaries(primaryUrl, { name: 'freshet-count', deadlineMs: DEADLINE_MS })
  await routes.opened
  const agreement = createAgreement({
    router: routes.router, keyPrefix: PREFIX, system: SYSTEM, partitions: 1, ...(ruleSet ? { ruleSet } : { rules: [rule] })
  })
  await agreement.agreed()
  const key = admissionKey(PREFIX, SYSTEM, 0)
  const { connection, replicationId } = routes.route(key(''))
  const terms = { replicationId, requestMs: REQUEST_MS, keepMs: REQUEST_MS, ruleSet, agreeIn: agreement.agreeIn }
  let requests = 0

  /** @param {Asked[]} asked */
  async function call (asked) {
    const commands = asked.map(({ key, args }) => prepare({ rule, key, scope: 'u', requestId: `r${1_000_000 + requests++}`, args }))
    const { replies } = await admit(connection, key, terms, commands)
    for (const [i, reply] of replies.map(String).entries()) {
      const isAccepted = ruleSet ? reply.startsWith('accepted\n') : /^(created|accepted)$/.test(decisionOf(reply).code)
      if (isAccepted) continue
      throw new FreshetError('COUNT_FAILED', `the command ${asked[i].args.join(' ')} was not accepted: ${reply.replaceAll('\n', ' ')}`)
    }
  }

  for (const one of prepared) await call([one])
  return {
    async run (batches) {
      for (let batch = 0; batch < batches; batch++) await call(next())
    },
    close: () => routes.close()
  }
}
