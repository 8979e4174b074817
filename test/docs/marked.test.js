/** Every example of the documentation runs in a test: it has a mark, and a test names page and mark. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { readPage, ROOT } from './examples.js'

/** Examples that no test can run, and why. */
const NOT_RUN = Object.freeze({
  'docs/deploying.md image': 'needs a Docker daemon',
  'docs/deploying.md task': 'needs AWS',
  'docs/deploying.md kubernetes': 'needs Kubernetes; regression/infra/kubernetes.test.js checks what it applies',
  'docs/measuring.md elasticache': 'needs AWS'
})
/** what makes a block an example: its language, or its first command */
const LANGUAGE = /^(js|ts|lua|python|go)$/
const COMMAND = /^([A-Z_]+=\S+ )?(curl|npm|npx|printf|docker|kubectl|aws|ACL) /

const markdown = async (/** @type {string} */ folder) =>
  (await readdir(join(ROOT, folder))).filter((name) => name.endsWith('.md')).map((name) => `${folder}/${name}`)
const pages = ['README.md', 'build/client/README.md', 'examples/coupons/README.md', 'examples/seats/README.md',
  ...await markdown('docs'), ...await markdown('docs/acl')]
const files = await Promise.all(['test', 'regression'].map(async (folder) =>
  (await readdir(join(ROOT, folder), { recursive: true })).filter((name) => name.endsWith('.test.js'))
    .map((name) => join(ROOT, folder, name))))
const tests = await Promise.all(files.flat().map((file) => readFile(file, 'utf8')))

/** Blocks of a page, each with the last mark of its section. @param {string} text */
function blocksOf (text) {
  const blocks = []
  let mark = ''
  for (const [, heading, marked, language, code] of text.matchAll(/^(#+ )|^<!-- example: (\S+) -->$|^```(\w*)\n([\s\S]*?)^```$/gm)) {
    if (heading) mark = ''
    else if (marked) mark = marked
    else blocks.push({ mark, language, code })
  }
  return blocks
}

t.test('each example has a mark that a test names beside its page', async (t) => {
  let count = 0
  for (const page of pages) {
    const text = await readPage(page)
    for (const { mark, language, code } of blocksOf(text)) {
      if (!LANGUAGE.test(language) && !COMMAND.test(code)) continue
      count++
      t.ok(mark, `${page} has an example without a mark: ${code.slice(0, 80)}`)
    }
    for (const [, mark] of text.matchAll(/^<!-- example: (\S+) -->$/gm)) {
      const isRun = tests.some((one) => one.includes(`'${page}'`) && one.includes(`'${mark}'`))
      t.not(isRun, `${page} ${mark}` in NOT_RUN, `${page}: ${mark} is run by a test, or is in the list of those that cannot be`)
    }
  }
  t.ok(count > 50, `${count} examples`)
})

t.test('the list of examples that cannot be run names examples', async (t) => {
  for (const name of Object.keys(NOT_RUN)) {
    const [page, mark] = name.split(' ')
    t.ok((await readPage(page)).includes(`<!-- example: ${mark} -->`), name)
  }
})
