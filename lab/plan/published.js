/**
 * What was published about the questions of some experiments: published.json beside their folders. Its figures and its ratios of the
 * main measure are part of the plan; its statements are judged by analysis/statements.js.
 *
 * @typedef {import('../analysis/statements.js').Statement} Statement
 * @typedef {import('./index.js').Published} Published
 * @typedef {import('./index.js').Figure} Figure
 * @typedef {{ studies: Record<string, string>, statements: Statement[],
 *   figures: Record<string, Pick<Published, 'source' | 'conditions' | 'unit' | 'figures'>> }} Studies `studies`: sources by name;
 *   `figures` by the number of an experiment
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** @param {string} folder of the experiments @returns {Promise<Studies>} empty without the file */
export async function readStudies (folder) {
  const text = await readFile(join(folder, 'published.json'), 'utf8').catch(() => null)
  return text === null ? { studies: {}, figures: {}, statements: [] } : JSON.parse(text)
}

/**
 * @param {Studies} studies
 * @param {string} number of the experiment
 * @param {{ measures?: string[], levels?: Record<string, unknown>, baseline?: string }} plan not validated yet
 * @returns {unknown} `published` of the plan, not validated; null: nothing
 */
export function publishedOf ({ figures, statements }, number, { measures: [main] = [], levels = {} }) {
  if (!(number in figures)) return null
  const isOfMain = (/** @type {{ measure?: string }} */ { measure = main }) => measure === main
  const isRatio = (/** @type {Statement} */ { experiment, of, against, per, value }) => experiment === number && value !== undefined &&
    of !== undefined && against !== undefined && per === undefined && against.level === undefined && [of, against].every(isOfMain)
  return {
    ...figures[number],
    ratios: statements.filter(isRatio).map(({ says, of, against, value, direction, from }) =>
      ({ arm: of?.arm, against: against?.arm, value, direction, label: `${says}: ${from}`, level: of?.level ?? Object.keys(levels)[0] }))
  }
}

/** @param {Studies} studies @param {string} number of an experiment @returns {string} of what is published about it, with conditions */
export function sourceOf ({ studies, figures, statements }, number) {
  const study = statements.find(({ experiment }) => experiment === number)?.study ?? ''
  const { conditions = '' } = figures[number] ?? {}
  return `${studies[study] ?? 'none'}${conditions && `; ${conditions}`}`
}
