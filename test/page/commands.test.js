/** What the pages say where nothing runs. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { SYSTEM_NAMES } from '../../src/systems/list.js'

for (const name of SYSTEM_NAMES) {
  t.test(`the page of ${name} names the command that starts them`, async (t) => {
    const page = String(await readFile(new URL(`../../readers/page/${name}.html`, import.meta.url)))
    t.match(page, `<code>npm start demo -- ${name}</code>`)
  })
}
