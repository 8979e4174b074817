/**
 * Finds the engine of an arm: among the programs of --engine, then PATH, then the pinned copy. An arm names an engine with as
 * much of its version as matters ('valkey', 'redis 7', 'redis 6.2'), or a program. There is no fallback.
 *
 * @typedef {import('../../src/embedded/index.js').Engine} Engine
 * @typedef {{ env: Record<string, string | undefined>, cacheDir: string, report?: (line: string) => void, signal?: AbortSignal,
 *   others?: string[] }} Place `others`: programs on PATH, or paths; names of engines among them are ignored
 */
import { FreshetError } from '../errors.js'
import {
  chooseEngine, compareVersions, enginesFound, installedEngines, namedEngine, newest, PINNED_VERSION
} from '../../src/embedded/index.js'

/** The name of an engine, and what its version begins with. */
const ENGINE = /^(valkey|redis)(?: (\d+(?:\.\d+){0,2}))?$/
const ADVICE = 'use --engine with a program on PATH, or a path'

/** @param {{ name: string, version: string }} engine @returns {string} `valkey 9.1.2` */
export const engineName = ({ name, version }) => `${name} ${version}`

/**
 * @param {string | null} wanted null = the default of embedded servers
 * @param {Place} place
 * @returns {Promise<Engine>} the newest match
 * @throws {FreshetError} ENGINE_MISSING: its message lists what was found
 */
export async function findEngine (wanted, { others = [], ...place }) {
  if (wanted === null) return chooseEngine(place)
  const match = ENGINE.exec(wanted.trim())
  if (!match) return namedEngine(wanted, place.env, ADVICE)
  const [, name, version = ''] = match
  const fits = (/** @type {{ name: string, version: string }} */ engine) =>
    engine.name === name && `${engine.version}.`.startsWith(version && `${version}.`)
  const here = [...await named(others, place.env), ...await installedEngines(place)]
  const found = newest(here.filter(fits))
  if (found) return found
  // fetch the pinned copy if it matches
  const all = fits({ name: 'valkey', version: PINNED_VERSION }) ? [...here, ...await enginesFound(place)] : here
  const fetched = newest(all.filter(fits))
  if (fetched) return fetched
  throw new FreshetError('ENGINE_MISSING', `no ${wanted} here; found ` +
    `${distinct(all).map((engine) => `${engineName(engine)} (${engine.program})`).join(', ') || 'no engine at all'}. Install it, or ` +
    `${ADVICE}`, { wanted })
}

/** @param {string[]} programs @param {Place['env']} env @returns {Promise<Engine[]>} */
const named = (programs, env) =>
  Promise.all(programs.filter((program) => !ENGINE.test(program)).map((program) => namedEngine(program, env, ADVICE)))

/** @param {Engine[]} engines @returns {Engine[]} the first of each name and version, in order */
const distinct = (engines) => engines.filter((engine, i) => engines.findIndex((one) => engineName(one) === engineName(engine)) === i)
  .sort((a, b) => b.name.localeCompare(a.name) || compareVersions(b.version, a.version))
