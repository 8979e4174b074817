/** Counted loads on servers without valgrind: a program in its place writes a count of its own and runs the server. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { count } from '../../lab/counting/count.js'
import { findState, fixedState } from '../../lab/counting/generator.js'
import { openDecisions } from '../../lab/counting/decisions.js'
import { openItems } from '../../lab/counting/items.js'
import { openOwnLoad } from '../../lab/counting/own-loads.js'
import { openPages } from '../../lab/counting/pages.js'
import { countPlan } from '../../lab/counting/run.js'
import { hasSeed } from '../../lab/counting/valgrind.js'
import { queryNode } from '../../lab/servers/query.js'
import { ROOT } from '../../src/embedded/index.js'
import { isWhole, nightEngines } from '../scope.js'
import { engineName } from '../servers.js'

const RUNS = `#!/bin/sh
if [ "$1" = --version ]; then echo valgrind-0; exit; fi
while :; do case $1 in --log-file=*) file=\${1#--log-file=}; shift;; --*) shift;; *) break;; esac; done
echo "==$$== I   refs:      1,234,567" > "\${file%\\%p}$$"
exec "$@"
`
const FAILS = '#!/bin/sh\necho "no such instruction" >&2\nexit 1\n'
const ITEMS = { ids: 200, valueBytes: 128, batchItems: 100, windowMs: 60_000, maxItems: 0 }

/**
 * A load with something before its batches.
 * @param {import('../../lab/counting/count.js').Load['open']} open
 * @param {(servers: { primaryUrl: string, replicaUrls: string[] }, batches: number) => unknown} before
 * @returns {typeof open}
 */
const openWith = (open, before) => async (servers) => {
  const opened = await open(servers)
  return {
    ...opened,
    async run (batches) {
      await before(servers, batches)
      await opened.run(batches)
    }
  }
}

t.test('the state of a generator is found if no number was drawn yet', async (t) => {
  const state = fixedState()
  const memory = Buffer.concat([Buffer.alloc(64, 7), state, Buffer.alloc(64)])
  t.equal(findState(memory), 64)
  memory.writeUInt8(memory[2000] ^ 1, 2000)
  t.equal(findState(memory), -1)
})

for (const engine of await nightEngines()) {
  const { program } = engine

  /** @param {import('tap').Test} t @param {string} script in place of valgrind */
  async function place (t, script) {
    const folder = await mkdtemp(join(tmpdir(), 'freshet-count-'))
    const file = join(folder, 'valgrind')
    await writeFile(file, script)
    await chmod(file, 0o755)
    const { PATH } = process.env
    process.env.PATH = `${folder}:${PATH}`
    t.teardown(async () => {
      process.env.PATH = PATH
      await rm(folder, { recursive: true, force: true })
    })
    return { program, engine: engineName(engine), folder }
  }
  const load = (/** @type {any} */ open, more = {}) =>
    ({ form: /** @type {const} */ ('primary'), batchUnits: 100, small: 6, large: 10, open, ...more })

  t.test(engineName(engine), async (t) => {
    await t.test('the difference of two sizes, by unit', async (t) => {
      const at = await place(t, RUNS)
      const { nodes, units } = await count(load(openItems({ ...ITEMS, layout: 'ids' })), at)
      t.equal(units, 400)
      t.match(nodes, [{ role: 'primary', instructions: 0, calls: { zadd: 0.01, watch: 0.01 } }], 'batches are compared as a whole')
      const { nodes: [published] } = await count(load(openOwnLoad('reference', ITEMS)), at)
      t.match(published.calls, { setex: 1, zadd: 0.01 })
    })

    await t.test('decisions in calls of a size, and pages from a replica', async (t) => {
      const at = await place(t, RUNS)
      const { nodes: [decided] } = await count(load(openDecisions('max', 16), { form: 'fed', batchUnits: 16 }), at)
      t.match(decided, { calls: { fcall: 1 / 16, set: 1 } })
      t.ok(decided.replicatedBytes > 500, 'what is replicated is known, too')
      const pages = openPages({ layout: 'ids', ids: 50, valueBytes: 128, batchItems: 50, limit: 10 })
      const { nodes } = await count({ ...load(pages.open), ...pages }, at)
      t.same(nodes.map(({ role }) => role), ['replica'], 'what fills the feed is not counted')
      t.match(nodes[0].calls, { mget: 1 })
    })

    await t.test('a server that does not run there is an outcome', async (t) => {
      const counting = count(load(openItems({ ...ITEMS, layout: 'values' })), await place(t, FAILS))
      await t.rejects(counting, { code: 'COUNT_FAILED', message: /did not start under valgrind: it ended with status 1.*\n.*no such instruction/s })
      const beganMs = performance.now()
      await new Promise((resolve) => { setTimeout(resolve, 10) })
      t.ok(performance.now() - beganMs >= 9, 'time goes on as before')
    })

    await t.test('a server or a connection that is lost is an outcome, and not waited for', async (t) => {
      const at = await place(t, RUNS)
      const ends = openWith(openItems({ ...ITEMS, layout: 'values' }), ({ primaryUrl }) =>
        queryNode(primaryUrl, (node) => node.send('SHUTDOWN', 'NOSAVE')).catch(() => {}))
      await t.rejects(count(load(ends), at), { code: 'SERVER_LOST', message: /ended with status 0 while it was counted/ })
      const reconnects = openWith(openItems({ ...ITEMS, layout: 'values' }), ({ primaryUrl }, batches) =>
        batches > 6 && queryNode(primaryUrl, (node) => node.send('PING')))
      await t.rejects(count(load(reconnects), at), { code: 'SERVER_LOST', message: /to the primary: one was lost/ })
    })

    if (isWhole) {
      await t.test('an engine that does not run is the outcome of its arms; the others are counted', async (t) => {
        const { folder } = await place(t, RUNS)
        const broken = join(folder, 'broken-server')
        await writeFile(broken, FAILS)
        await chmod(broken, 0o755)
        const settings = { ...ITEMS, layout: 'values' }
        const plan = /** @type {any} */ ({
          name: 'plan',
          baseline: 'a',
          arms: { a: { settings }, b: { settings, engine: 'broken' } },
          levels: { l: { settings: {}, without: [] } },
          fixed: {}
        })
        const { cells, finishedAt } = await countPlan({
          plan,
          arms: [],
          result: null,
          resultFile: null,
          root: ROOT,
          folder,
          engineOf: async (wanted) => wanted === null ? engine : { ...engine, version: '0.0.1', program: broken },
          report () {},
          signal: AbortSignal.timeout(300_000)
        })
        t.ok(finishedAt)
        t.match(cells, [
          { arm: 'a', error: null, nodes: [{ role: 'primary' }, { role: 'replica' }], invalid: { length: 0 } },
          { arm: 'b', error: { code: 'COUNT_FAILED', message: /did not start under valgrind: it ended with status 1/ }, nodes: { length: 0 } },
          { arm: 'a (A/A)', error: null }
        ])
      })
    }

    await t.test('a replica that falls behind is an outcome', async (t) => {
      const leaves = openWith(openItems({ ...ITEMS, layout: 'values' }), ({ replicaUrls: [url] }) =>
        queryNode(url, (node) => node.send('REPLICAOF', 'NO', 'ONE')))
      const counting = count(load(leaves, { form: 'pair' }), { ...await place(t, RUNS), waitMs: 1_000 })
      await t.rejects(counting, { code: 'LAB_REPLICAS_BEHIND', message: /fell behind under valgrind/ })
    })

    await t.test('levels of skip lists are the same in each server, where the engine draws them itself', async (t) => {
      if (!hasSeed(engineName(engine))) return
      /** of each server @type {number[][]} */
      const memory = []
      const sets = async (/** @type {{ primaryUrl: string }} */ { primaryUrl }) => ({
        run: async () => {
          memory.push(await queryNode(primaryUrl, async (node) => {
            await node.send('CONFIG', 'SET', 'zset-max-listpack-entries', 0)
            // so small that their hash table does not depend on the hashes
            const used = []
            for (let i = 0; i < 100; i++) {
              await node.send('ZADD', `set-${i}`, 1, 'a', 2, 'b', 3, 'c', 4, 'd')
              used.push(await node.send('MEMORY', 'USAGE', `set-${i}`))
            }
            return used
          }))
        },
        close: async () => {}
      })
      await count(load(sets), await place(t, RUNS))
      // each level takes memory: of levels drawn by chance some 30 sets in 100 are equal. libc may give a node a rest that is too small to
      // be used by another: seen in up to 1 set
      t.ok(memory[0].filter((bytes, i) => bytes === memory[1][i]).length > 80, memory.join('\n'))
    })
  })
}
