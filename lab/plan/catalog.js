/**
 * The experiments of a folder: one folder each, NNN-name, with a plan.js that exports its plan. What was published about them is in
 * published.json beside them, and nowhere else.
 *
 * @typedef {import('./index.js').Plan} Plan
 * @typedef {{ name: string, number: string, folder: string, title: string, question: string, arms: string[],
 *   minutes: number, plan: Plan }} Experiment `minutes` of a full run, estimated
 */
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { FreshetError } from '../errors.js'
import { readPlan } from './index.js'
import { publishedOf, readStudies } from './published.js'
import { minutesOf, scheduleOf } from './schedule.js'
import { expectedOneOf } from './shape.js'

/** @type {import('./index.js').Known} for names and folders alone */
const ANY = { checkSettings: () => [] }

/**
 * @param {string} folder
 * @param {import('./index.js').Known} [known]
 * @returns {Promise<Experiment[]>} by number
 * @throws {FreshetError} PLAN_INVALID
 */
export async function listExperiments (folder, known = ANY) {
  return Promise.all((await namesIn(folder)).map((name) => load(folder, name, known)))
}

/**
 * @param {string} folder
 * @param {string} text a number (007, 7) or a name, with or without its number
 * @param {import('./index.js').Known} [known]
 * @returns {Promise<Experiment>}
 * @throws {FreshetError} EXPERIMENT_UNKNOWN, PLAN_INVALID
 */
export async function findExperiment (folder, text, known = ANY) {
  const names = await namesIn(folder)
  const wanted = text.toLowerCase()
  const found = names.filter((name) =>
    [name, name.slice(4), name.slice(0, 3)].includes(/^\d{1,3}$/.test(wanted) ? wanted.padStart(3, '0') : wanted))
  if (found.length > 1) {
    throw new FreshetError('EXPERIMENT_UNKNOWN', `${text} is the number of ${found.join(' and ')}; use the name`, { experiment: text })
  }
  if (found.length === 0) {
    throw new FreshetError('EXPERIMENT_UNKNOWN',
      `there is no experiment ${JSON.stringify(text)}; ${expectedOneOf(wanted, names)} (all of them: npm run experiment -- list)`,
      { experiment: text })
  }
  return load(folder, found[0], known)
}

/** @param {string} folder @returns {Promise<string[]>} */
async function namesIn (folder) {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error) => {
    throw new FreshetError('EXPERIMENT_UNKNOWN',
      `cannot read the folder of experiments, ${folder} (${error.code}); run this in a checkout of Freshet`)
  })
  return entries.filter((entry) => entry.isDirectory() && /^\d{3}-/.test(entry.name)).map(({ name }) => name).sort()
}

/** @param {string} parent @param {string} name @param {import('./index.js').Known} known @returns {Promise<Experiment>} */
async function load (parent, name, known) {
  const folder = join(parent, name)
  const raw = await rawPlan(join(folder, 'plan.js'), name)
  if (raw?.published) {
    throw new FreshetError('PLAN_INVALID', `plan ${name}: published: what was published is in published.json beside the experiments`,
      { plan: name })
  }
  const plan = readPlan(name, { ...raw, published: publishedOf(await readStudies(parent), name.slice(0, 3), raw) }, known)
  return {
    name,
    number: plan.number,
    folder,
    title: plan.title,
    question: plan.question,
    arms: Object.keys(plan.arms),
    minutes: minutesOf(scheduleOf(plan)),
    plan
  }
}

/** @param {string} file @param {string} name @returns {Promise<any>} what it exports */
async function rawPlan (file, name) {
  if (!await stat(file).then((it) => it.isFile(), () => false)) {
    throw new FreshetError('PLAN_INVALID', `plan ${name}: its folder has no plan.js; see docs/measuring.md`, { plan: name })
  }
  /** @type {any} */
  let module
  try {
    module = await import(pathToFileURL(file).href)
  } catch (error) {
    throw new FreshetError('PLAN_INVALID', `plan ${name}: plan.js cannot be loaded: ${error.message}`, { plan: name, cause: error })
  }
  if (module.default === undefined) {
    throw new FreshetError('PLAN_INVALID', `plan ${name}: plan.js exports nothing; expected export default { ... }`, { plan: name })
  }
  return module.default
}
