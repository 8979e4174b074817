/**
 * Questions whose answers are counted (`npm run costs -- --questions`), with loads that are not all Freshet's work of today. Each has its
 * page in docs/decisions.
 *
 * @typedef {import('./count.js').Load} Load
 * @typedef {{ engines: string[], unit: string, loads: Record<string, Load> }} Question
 */
import { onlyKey } from '../../src/feeds/index.js'
import { layoutOf } from '../../src/layouts/index.js'
import { capabilities, openConnection, readScript } from '../../src/store/index.js'
import { LAB } from '../command/places.js'
import { createSource } from '../loads/source.js'
import { figure } from '../report/numbers.js'
import { engineName, findEngine } from '../servers/engines.js'
import { defaultCacheDir, ROOT } from '../../src/embedded/index.js'
import { count } from './count.js'
import { openDecisions } from './decisions.js'
import { openOwnLoad } from './own-loads.js'
import { expectValgrind } from './valgrind.js'

const DEADLINE_MS = 60_000
const IDS = 2_000
const TTL_MS = 180_000
const EPOCH_MS = 1_764_000_000_000
const FIXED = Object.freeze({
  ids: IDS, valueBytes: 128, valueChange: /** @type {const} */ ('always'), windowMs: 60_000, maxItems: 0, writers: 1
})
const VALKEY = 'valkey 9.1'

/**
 * Batches of a layout as its writer encodes them, in one form.
 * @param {'ids' | 'values'} layout @param {'script' | 'watched' | 'plain'} form
 * @param {{ batchItems: number, late?: 'overwrite', ids?: number }} how
 * @returns {Load['open']}
 */
const openBatches = (layout, form, { batchItems, late, ids: distinct = IDS }) => async ({ primaryUrl }) => {
  const connection = await openConnection(primaryUrl, { name: 'freshet-count', deadlineMs: DEADLINE_MS })
  const key = onlyKey('lab:', 'lab')
  const { msetex } = await capabilities(connection)
  const hasMsetex = msetex === true
  const sha = (/** @type {string} */ name) => readScript(name).sha
  for (const name of ['append-newest', 'mend-scores']) await connection.send('SCRIPT', 'LOAD', readScript(name).body)
  let nowMs = EPOCH_MS
  const batch = layoutOf(layout).createBatch({
    key, ttlMs: TTL_MS, late: late ?? 'newest', dialect: { msetex: hasMsetex, mayWatch: form === 'watched', sha }, clock: () => nowMs
  })
  const source = createSource({ ...FIXED, ids: distinct }, 0)

  return {
    async run (batches) {
      for (let n = 0; n < batches; n++) {
        nowMs++
        batch.reset()
        for (let seq = 0; seq < batchItems; seq++) {
          const { id, value } = source.next(nowMs)
          batch.add(id, nowMs, seq, value)
        }
        if (form === 'watched') {
          const [ids, deletions] = [key('ids'), key('deletions')]
          await connection.sendAll([['WATCH', ids, deletions], ['ZREVRANGE', ids, 0, 0, 'WITHSCORES'], ['PTTL', deletions]])
        }
        await connection.sendEncoded(form === 'watched' ? /** @type {any} */ (batch.watched).encoded() : batch.encoded())
      }
    },
    close: async () => connection.close()
  }
}

/** @param {Load['open']} open @param {{ batchItems?: number, items?: number, ids?: number }} [of] @returns {Load} */
function ofItems (open, { batchItems = 250, items = 40_000, ids = IDS } = {}) {
  const small = Math.max(12, Math.ceil(1.5 * ids / batchItems))
  return { form: 'fed', batchUnits: batchItems, small, large: small + Math.ceil(items / batchItems), open }
}

/** @param {string} name @param {number} size @returns {Load} */
const ofDecisions = (name, size) => ({
  form: 'fed', batchUnits: size, small: 10, large: 10 + Math.max(5, Math.round(1_600 / size / 5) * 5), open: openDecisions(name, size)
})

/** A script of one key, called again and again. @param {string} body @returns {Load} */
const ofScript = (body) => ({
  form: 'primary',
  batchUnits: 1,
  small: 20,
  large: 120,
  async open ({ primaryUrl }) {
    const connection = await openConnection(primaryUrl, { name: 'freshet-count', deadlineMs: DEADLINE_MS })
    await connection.send('SET', 'lab:k', 'value')
    await connection.send('HSET', 'lab:h', ...Array.from({ length: 20 }, (_, i) => [`field-${i}`, 'value']).flat())
    const sha = String(await connection.send('SCRIPT', 'LOAD', body))
    return {
      async run (calls) {
        for (let call = 0; call < calls; call++) await connection.send('EVALSHA', sha, 2, 'lab:k', 'lab:h')
      },
      close: async () => connection.close()
    }
  }
})

const LUA = "local t = {} for i = 1, 2000 do t[i % 50] = string.format('%d', i) .. string.sub(t[(i + 1) % 50] or '', 1, 40) end"

/** @type {Readonly<Record<string, Question>>} */
export const QUESTIONS = Object.freeze({
  'rules of ours and of users': {
    engines: [VALKEY],
    unit: 'decision',
    loads: Object.fromEntries([1, 16, 256].flatMap((size) => ['max', 'step'].flatMap((rule) => [
      [`${rule}, ours, calls of ${size}`, ofDecisions(rule, size)],
      [`${rule} of a user, calls of ${size}`, ofDecisions(`${rule} of a user`, size)]
    ])))
  },
  'forms of ids': {
    engines: [VALKEY, 'valkey 9.0', 'redis 7.0'],
    unit: 'item',
    loads: {
      overwriting: ofItems(openBatches('ids', 'plain', { batchItems: 250, late: 'overwrite' })),
      'in order, WATCH': ofItems(openBatches('ids', 'watched', { batchItems: 250 })),
      'in order, script': ofItems(openBatches('ids', 'script', { batchItems: 250 }), { items: 20_000 }),
      'published way': ofItems(openOwnLoad('reference', { ...FIXED, batchItems: 250 }))
    }
  },
  'scripts by engine': {
    engines: [VALKEY, 'valkey 9.0', 'redis 7.0'],
    unit: 'call',
    loads: {
      '200 writes': ofScript("for i = 1, 200 do redis.call('SET', KEYS[1], i) end"),
      'pure Lua': ofScript(LUA),
      'GET and HGETALL': ofScript("redis.call('GET', KEYS[1]) redis.call('HGETALL', KEYS[2])"),
      nothing: ofScript('return 1'),
      'max, calls of 16': ofDecisions('max', 16),
      "a user's rule, calls of 16": ofDecisions('hall', 16)
    }
  }
})

/**
 * Counts the answers and prints them as tables. Engines that are not here are left out, and named.
 * @param {{ env: Record<string, string | undefined>, names: string[],
 *   stdout: { write: (text: string) => unknown } }} from `names`: none = all
 * @returns {Promise<void>}
 */
export async function answerQuestions ({ env, names, stdout }) {
  await expectValgrind(env)
  for (const [name, { engines, unit, loads }] of Object.entries(QUESTIONS)) {
    if (names.length > 0 && !names.includes(name)) continue
    stdout.write(`## ${name}\n\n`)
    for (const wanted of engines) {
      const cacheDir = env.FRESHET_CACHE_DIR || defaultCacheDir(ROOT)
      const engine = await findEngine(wanted, { env, cacheDir }).catch((error) => {
        if (error.code !== 'ENGINE_MISSING') throw error
        stdout.write(`left out: ${wanted} is not on PATH\n\n`)
        return null
      })
      if (engine === null) continue
      const place = { program: engine.program, engine: engineName(engine), folder: `${LAB}/costs` }
      stdout.write(`${place.engine}\n\n| load | instructions for one ${unit} | commands | bytes in | replicated bytes |\n` +
        '|---|--:|--:|--:|--:|\n')
      for (const [load, of] of Object.entries(loads)) {
        const { nodes: [{ instructions, commands, bytesIn, replicatedBytes }] } = await count(of, place)
        const figures = [instructions, commands, bytesIn, of.form === 'fed' ? replicatedBytes : null].map(figure)
        stdout.write(`| ${[load, ...figures].join(' | ')} |\n`)
      }
      stdout.write('\n')
    }
  }
}
