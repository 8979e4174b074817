/**
 * `npm run costs`: counts the rows of the table, prints them, and fails when one has moved. Instructions do not depend on how busy the machine
 * is. A row that moved is counted twice more, and the median counts: where the nodes of a skip list land is chance.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../errors.js'
import { defaultCacheDir, ROOT } from '../../src/embedded/index.js'
import { engineName, findEngine } from '../servers/engines.js'
import { writeWhole } from '../run/result.js'
import { LAB } from '../command/places.js'
import { count } from './count.js'
import { ANCHOR, ROWS } from './rows.js'
import { compareCosts, isSameKey, textOfCosts } from './table.js'
import { expectValgrind, keyOf } from './valgrind.js'

const FILE = fileURLToPath(new URL('costs.json', import.meta.url))
const ENGINE = 'valkey 9.1'
const AGAIN = 2

/** @typedef {import('./table.js').Cost} Cost */
/** @typedef {{ program: string, engine: string, folder: string }} Place */

/**
 * @param {string} name of ROWS @param {Place} place
 * @returns {Promise<Cost>}
 */
export async function costOf (name, place) {
  const { unit, node, load } = ROWS[name]
  const { nodes } = await count(load, place)
  const { instructions, commands, bytesIn, bytesOut, replicatedBytes } = /** @type {import('./count.js').PerUnit} */ (
    nodes.find(({ role }) => role === node))
  return { unit, instructions, commands, bytesIn, bytesOut, replicatedBytes: load.form === 'fed' ? replicatedBytes : 0 }
}

/** @param {Cost[]} costs @returns {Cost} that in the middle by instructions */
const middleOf = (costs) => costs.toSorted((a, b) => a.instructions - b.instructions)[Math.floor(costs.length / 2)]

/** @param {Place} place @param {string} name @param {Cost} [first] */
async function countedAgain (place, name, first) {
  const costs = first ? [first] : []
  for (let i = 0; i < AGAIN + (first ? 0 : 1); i++) costs.push(await costOf(name, place))
  return middleOf(costs)
}

/**
 * @param {{ argv: string[], env: Record<string, string | undefined>, stdout: { write: (text: string) => unknown } }} from `--all`: the rows
 *   of the night, too; `--update`: stores what was counted; names of rows: only these
 * @returns {Promise<number>} exit status
 */
export async function runCosts ({ argv, env, stdout }) {
  const names = argv.filter((word) => !word.startsWith('--'))
  const unknown = [...argv.filter((word) => word.startsWith('--') && !['--all', '--update'].includes(word)), ...names.filter((name) => !ROWS[name])]
  if (unknown.length > 0) {
    stdout.write(`unknown: ${unknown.join(', ')}; expected --all, --update, or names of rows:\n  ${Object.keys(ROWS).join('\n  ')}\n`)
    return 2
  }
  await expectValgrind(env)
  const beganMs = Date.now()
  const engine = await findEngine(ENGINE, { env, cacheDir: env.FRESHET_CACHE_DIR || defaultCacheDir(ROOT) })
  const place = { program: engine.program, engine: engineName(engine), folder: `${LAB}/counting` }
  const key = await keyOf(engine.program)
  const wanted = Object.keys(ROWS).filter((name) => name === ANCHOR || (names.length > 0 ? names.includes(name) : argv.includes('--all') || ROWS[name].isDaily))
  const isUpdate = argv.includes('--update')
  const table = await readTable(isUpdate)
  /** @type {Record<string, Cost>} */
  const counted = {}
  for (const name of wanted) counted[name] = isUpdate ? await countedAgain(place, name) : await costOf(name, place)
  if (isUpdate) {
    if (table.rows[ANCHOR] && !isSameKey(table.key, key) && wanted.length < Object.keys(ROWS).length) {
      throw new FreshetError('COUNT_FAILED', 'the table is of another machine or server program; use --all --update')
    }
    const rows = Object.fromEntries(Object.keys(ROWS).flatMap((name) => {
      const cost = counted[name] ?? table.rows[name]
      return cost ? [[name, rounded(cost)]] : []
    }))
    await writeWhole(FILE, JSON.stringify({ key, engine: place.engine, rows }, null, 2) + '\n')
    table.key = key
    table.rows = rows
  }
  for (const { name } of compareCosts(table, key, counted, ANCHOR).filter(({ faults }) => faults.length > 0 && faults[0] !== 'is not in the table')) {
    counted[name] = await countedAgain(place, name, counted[name])
  }
  const compared = compareCosts(table, key, counted, ANCHOR)
  stdout.write(`${textOfCosts(compared)}\n\n${place.engine}, ${key.arch}, ${key.libc}, valgrind ${key.valgrind}, program ${key.binary}, ` +
    `${Math.round((Date.now() - beganMs) / 1000)} s\n`)
  if (!isSameKey(table.key, key)) stdout.write('another machine or server program than that of the table: ratios to the anchor are compared, to 4 %\n')
  const moved = compared.filter(({ faults }) => faults.length > 0)
  for (const { name, faults } of moved) stdout.write(`moved: ${name}: ${faults.join('; ')}\n`)
  if (moved.length > 0) {
    stdout.write('If that is wanted, store it with npm run costs -- --update NAME ..., and name in the commit the row, the old and the new ' +
      'figure, and what users get for it.\n')
  }
  return moved.length > 0 ? 1 : 0
}

/** @param {boolean} isUpdate @returns {Promise<import('./table.js').Table>} */
async function readTable (isUpdate) {
  const text = await readFile(FILE, 'utf8').catch((error) => {
    if (error.code === 'ENOENT' && isUpdate) return '{"key":{},"engine":"","rows":{}}'
    throw error
  })
  return JSON.parse(text)
}

/** @param {Cost} cost @returns {Cost} */
const rounded = ({ unit, ...figures }) => /** @type {any} */ ({
  unit, ...Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Number(value.toFixed(name === 'instructions' ? 0 : 4))]))
})
