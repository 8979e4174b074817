/** Counted loads on servers without valgrind: a program in its place writes a count of its own and runs the server. */
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { count } from '../../lab/counting/count.js'
import { openDecisions } from '../../lab/counting/decisions.js'
import { openItems } from '../../lab/counting/items.js'
import { openOwnLoad } from '../../lab/counting/own-loads.js'
import { openPages } from '../../lab/counting/pages.js'
import { nightEngines } from '../scope.js'
import { engineName } from '../servers.js'

const RUNS = `#!/bin/sh
while :; do case $1 in --log-file=*) file=\${1#--log-file=}; shift;; --*) shift;; *) break;; esac; done
echo "==$$== I   refs:      1,234,567" > "\${file%\\%p}$$"
exec "$@"
`
const FAILS = '#!/bin/sh\necho "no such instruction" >&2\nexit 1\n'
const ITEMS = { ids: 200, valueBytes: 128, batchItems: 100, windowMs: 60_000, maxItems: 0 }

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
      t.match(decided, { calls: { evalsha: 1 / 16, set: 1 } })
      t.ok(decided.replicatedBytes > 500, 'what is replicated is known, too')
      const pages = openPages({ layout: 'ids', ids: 50, valueBytes: 128, limit: 10 })
      const { nodes } = await count(load(pages, { form: 'pair', batchUnits: 1 }), at)
      t.same(nodes.map(({ role }) => role), ['primary', 'replica'])
      t.match(nodes[1].calls, { mget: 1 })
    })

    await t.test('a server that does not run there is an outcome', async (t) => {
      const counting = count(load(openItems({ ...ITEMS, layout: 'values' })), await place(t, FAILS))
      await t.rejects(counting, { code: 'COUNT_FAILED', message: /did not start under valgrind: it ended with status 1.*\n.*no such instruction/s })
      const beganMs = performance.now()
      await new Promise((resolve) => { setTimeout(resolve, 10) })
      t.ok(performance.now() - beganMs >= 9, 'time goes on as before')
    })
  })
}
