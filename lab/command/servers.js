/** Which servers and programs an experiment gets: engines that are here, servers of the lab, or given ones. */
import { basename, join } from 'node:path'
import { enginesOf, programsOf, withoutEngines } from '../plan/plan-changes.js'
import { engineName, findEngine } from '../servers/engines.js'
import { openOwnServers } from '../servers/own.js'
import { openTarget } from '../servers/target.js'
import { programsOnPath } from '../../src/embedded/index.js'
import { LAB } from './places.js'

/** @typedef {import('../plan/index.js').Plan} Plan */
/** @typedef {Parameters<typeof findEngine>[1] & { report: (line: string) => void }} Place */

/** Programs that some arms need, besides servers: how to get one. */
const PROGRAMS = Object.freeze(/** @type {Record<string, string>} */ ({
  centrifugo: 'go install github.com/centrifugal/centrifugo/v6@latest',
  java: 'apt install openjdk-17-jre-headless, for Kafka',
  mariadbd: 'apt install mariadb-server'
}))

/** Where neither arm nor level names one. @param {any} settings @param {Place} place @returns {string | null} null = the newest found */
const defaultEngine = ({ server }, { others }) => others?.[0] ?? server

/** Which versions the servers will be. @param {Plan} plan @param {Place} place @param {any} settings */
export async function enginesHere (plan, place, settings) {
  const wanted = enginesOf(plan)
  const engines = await Promise.all((wanted.length ? wanted : [defaultEngine(settings, place)]).map((engine) => findEngine(engine, place)))
  return [...new Set(engines.map(engineName))]
}

/**
 * Leaves out arms and levels whose engine or program is not here, and says so.
 * @param {Plan} plan @param {Place} place
 */
export async function withEngines (plan, place) {
  const engines = enginesOf(plan)
  /** @type {string[]} */
  const absent = []
  for (const engine of engines) {
    await findEngine(engine, place).catch((error) => {
      if (error.code !== 'ENGINE_MISSING') throw error
      absent.push(engine)
    })
  }
  if (absent.length > 0) place.report(`left out, no such engine here: ${absent.join(', ')}; name its program with --engine`)
  const programs = programsOf(plan)
  const there = (await programsOnPath(place.env, programs)).map((path) => basename(path))
  const missing = programs.filter((program) => !there.includes(program))
  for (const program of missing) place.report(`left out, not on PATH: ${program}; ${PROGRAMS[program]}`)
  return withoutEngines(plan, [...absent, ...missing])
}

/**
 * @param {Pick<import('./run.js').Parts, 'settings' | 'signal'> & { group: import('./aws.js').OpenGroup | null }} parts
 * @param {{ engine: string | null, shape: string | null }} of null = the default
 * @param {Place} place
 */
export function opener ({ settings, signal, group }, { engine, shape }, place) {
  if (settings.target) {
    const replicaUrls = group?.replicaUrls ?? settings.replicaUrl
    return () => openTarget({ url: settings.target, replicaUrls, deadlineMs: settings.deadlineMs ?? 5000 })
  }
  return async () => openOwnServers({
    program: (await findEngine(engine ?? defaultEngine(settings, place), place)).program,
    shape,
    folder: join(LAB, 'servers'),
    signal,
    report: place.report
  })
}
