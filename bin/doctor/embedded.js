/** The server program that embedded servers would use, and the embedded servers that run. */
import {
  defaultCacheDir, findPip, installAdvice, installedEngines, lookAtEmbeddedServers, namedEngine, newest, PINNED_VERSION, ROOT
} from '../../src/embedded/index.js'
import { openConnection } from '../../src/store/index.js'
import { labelled } from './rows.js'

const DEADLINE_MS = 1000

/** @typedef {Record<string, string | undefined>} Env */

/** @param {any} settings @param {Env} env @returns {Promise<import('./rows.js').Findings>} */
export async function embeddedFindings ({ server: named, cacheDir }, env) {
  /** @type {string[]} */
  const skipped = []
  const installed = await installedEngines({ env, cacheDir: cacheDir ?? defaultCacheDir(ROOT), report: (line) => skipped.push(line) })
  const pip = await findPip(env)
  const choice = await choiceOf(named, env, installed, pip)
  const running = await lookAtEmbeddedServers({ root: ROOT })
  const runningRows = /** @type {string[][]} */ (running === null
    ? [['not running']]
    : running === 'starting'
      ? [['starting or stopping']]
      : running.servers === null
        ? [['not running']]
        : await nodeRows(running.servers))
  return {
    rows: [
      ...labelled('engines', [...installed.map(engineCells), ...skipped.map((line) => [line])]),
      ['pip', pip ? pip.join(' ') : 'not found'],
      ['would use', choice.text],
      ...labelled('servers', runningRows)
    ],
    problems: choice.problem ? [choice.problem] : []
  }
}

/**
 * Nodes of a cluster may have other roles than at the start.
 * @param {{ primaries: string[], replicas: string[], engine: { name: string, version: string } }} servers @returns {Promise<string[][]>}
 */
export async function nodeRows ({ primaries, replicas, engine: { name, version } }) {
  const rows = await Promise.all([...primaries, ...replicas].map(async (url) => [await roleOf(url), url]))
  const text = `${name} ${version}${primaries.length > 1 ? ', a cluster' : ''}`
  return ROLES.flatMap((role) => rows.filter(([its]) => its === role)).map((row, i) => i === 0 ? [...row, text] : row)
}

const ROLES = ['primary', 'replica', 'away']

/** @param {string} url */
async function roleOf (url) {
  try {
    const connection = await openConnection(url, { name: 'freshet-doctor', deadlineMs: DEADLINE_MS })
    const [role] = await connection.send('ROLE').finally(() => connection.close())
    return String(role) === 'master' ? 'primary' : 'replica'
  } catch {
    return 'away'
  }
}

/**
 * The choice of chooseEngine, without a download.
 * @param {string | null} named @param {Env} env
 * @param {import('../../src/embedded/index.js').Engine[]} installed @param {string[] | null} pip
 * @returns {Promise<{ text: string, problem?: string }>}
 */
async function choiceOf (named, env, installed, pip) {
  if (named) {
    return namedEngine(named, env).then(
      ({ name, version, program }) => ({ text: `${name} ${version} (${program}), as configured` }),
      (error) => ({ text: 'none', problem: error.message + '.' }))
  }
  const able = newest(installed.filter((engine) => engine.hasMsetex))
  if (able) {
    return { text: `${able.name} ${able.version} (${able.origin === 'pinned' ? 'the pinned copy' : able.program}), the newest with MSETEX` }
  }
  if (pip) return { text: `valkey ${PINNED_VERSION}, downloaded with ${pip.join(' ')}: no installed server has MSETEX` }
  const older = newest(installed)
  if (older) {
    return {
      text: `${older.name} ${older.version} (${older.program}), without MSETEX: there is no pip to download valkey ${PINNED_VERSION}`
    }
  }
  return { text: 'none', problem: `There is no server program, and no pip to download one. ${await installAdvice()}.` }
}

/** @param {import('../../src/embedded/index.js').Engine} engine */
const engineCells = ({ name, version, hasMsetex, program, origin }) => [
  `${name} ${version}`, `MSETEX ${hasMsetex ? 'yes' : 'no'}`, program + (origin === 'pinned' ? ' (the pinned copy)' : '')
]
