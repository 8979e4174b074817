/**
 * `npm run costs`: counts the rows of the table, prints them, and fails when one has moved. Instructions do not depend on how busy the
 * machine is, so each row is counted once.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { FreshetError } from '../errors.js'
import { defaultCacheDir, ROOT } from '../../src/embedded/index.js'
import { engineName, findEngine } from '../servers/engines.js'
import { writeWhole } from '../run/result.js'
import { LAB } from '../command/places.js'
import { count, countIdle } from './count.js'
import { ANCHOR, ROWS } from './rows.js'
import { compareCosts, isSameKey, textOfCosts } from './table.js'
import { expectValgrind, keyOf } from './valgrind.js'

const FILE = fileURLToPath(new URL('costs.json', import.meta.url))
const ENGINE = 'valkey 9.1'
const FLAGS = ['--all', '--update']
const ADVICE = 'If that is wanted, store it with npm run costs -- --update NAME ..., and name in the commit the row, the old and the ' +
  'new figure, and what users get for it.'

/** @typedef {import('./table.js').Cost} Cost */
/** @typedef {import('./table.js').Table} Table */
/** @typedef {{ program: string, engine: string, folder: string, idlePerSecond: number }} Place */

/** @param {string} name of ROWS @param {Place} place @returns {Promise<Cost>} */
async function costOf (name, { idlePerSecond, ...place }) {
  const { unit, node, load } = ROWS[name]
  // what is known is of a primary
  const { nodes } = await count(load, place, { idlePerSecond: load.form === 'read' ? 0 : idlePerSecond })
  const { instructions, commands, bytesIn, bytesOut, replicatedBytes } = /** @type {import('./count.js').PerUnit} */ (
    nodes.find(({ role }) => role === node))
  return { unit, instructions, commands, bytesIn, bytesOut, replicatedBytes: load.form === 'fed' ? replicatedBytes : 0 }
}

/**
 * @param {{ argv: string[], env: Record<string, string | undefined>, stdout: { write: (text: string) => unknown } }} from `--all`: the rows
 *   of the night, too; `--update`: stores what was counted, and says what it was before; names of rows: only these
 * @returns {Promise<number>} exit status: 1 when a row has moved
 * @throws {FreshetError} VALGRIND_MISSING, COUNT_FAILED, ENGINE_MISSING
 */
export async function runCosts ({ argv, env, stdout }) {
  const unknown = argv.filter((word) => !FLAGS.includes(word) && !Object.hasOwn(ROWS, word))
  if (unknown.length > 0) {
    stdout.write(`unknown: ${unknown.join(', ')}; expected ${FLAGS.join(', ')}, or names of rows:\n  ${Object.keys(ROWS).join('\n  ')}\n`)
    return 2
  }
  await expectValgrind(env)
  const beganMs = Date.now()
  const engine = await findEngine(ENGINE, { env, cacheDir: env.FRESHET_CACHE_DIR || defaultCacheDir(ROOT) })
  const folder = `${LAB}/costs`
  const found = { program: engine.program, engine: engineName(engine), folder }
  const place = { ...found, idlePerSecond: await countIdle(ROWS[ANCHOR].load, found) }
  const key = await keyOf(engine.program)
  const isUpdate = argv.includes('--update')
  const table = await readTable()
  if (isUpdate) expectUpdatable(table, key, argv)
  /** @type {Record<string, Cost>} */
  const counted = {}
  for (const name of wantedOf(argv)) {
    counted[name] = await costOf(name, place)
    // an interrupted update keeps what it has
    if (isUpdate) await storeTable(table, { key, engine: place.engine, counted })
  }
  const compared = compareCosts(table, key, counted, ANCHOR)
  const moved = compared.filter(({ faults }) => faults.length > 0)
  stdout.write([
    textOfCosts(compared),
    '',
    `${place.engine}, ${key.arch}, ${key.libc}, valgrind ${key.valgrind}, program ${key.binary}, ` +
      `${Math.round((Date.now() - beganMs) / 1000)} s`,
    ...(isSameKey(table.key, key) ? [] : ['not the machine or program of the table: ratios to the anchor are compared, to 4 %']),
    ...moved.map(({ name, faults }) => `moved: ${name}: ${faults.join('; ')}`),
    ...(moved.length > 0 && !isUpdate ? [ADVICE] : []),
    ...(isUpdate ? ['stored'] : []),
    ''
  ].join('\n'))
  return moved.length > 0 && !isUpdate ? 1 : 0
}

/** @param {string[]} argv @returns {string[]} names of rows, the anchor first */
function wantedOf (argv) {
  const names = argv.filter((word) => !FLAGS.includes(word))
  return Object.keys(ROWS).filter((name) => name === ANCHOR ||
    (names.length > 0 ? names.includes(name) : argv.includes('--all') || ROWS[name].isDaily))
}

/** @returns {Promise<Table>} */
const readTable = async () => JSON.parse(await readFile(FILE, 'utf8'))

/** @param {Table} table @param {Table['key']} key @param {string[]} argv @throws {FreshetError} COUNT_FAILED */
function expectUpdatable (table, key, argv) {
  if (isSameKey(table.key, key) || argv.includes('--all')) return
  throw new FreshetError('COUNT_FAILED', 'the table is of another machine or server program; use --all --update')
}

/** @param {Table} before @param {Pick<Table, 'key' | 'engine'> & { counted: Table['rows'] }} now */
async function storeTable (before, { key, engine, counted }) {
  const names = Object.keys(ROWS)
  const rows = Object.fromEntries(names.flatMap((name) => {
    const cost = counted[name] ?? before.rows[name]
    return cost ? [[name, rounded(cost)]] : []
  }))
  await writeWhole(FILE, JSON.stringify({ key, engine, rows }, null, 2) + '\n')
}

/** @param {Cost} cost @returns {Cost} */
const rounded = ({ unit, instructions, ...figures }) => /** @type {any} */ ({
  unit,
  instructions: Number(instructions.toFixed(instructions < 1000 ? 2 : 0)),
  ...Object.fromEntries(Object.entries(figures).map(([name, value]) => [name, Number(value.toFixed(4))]))
})
