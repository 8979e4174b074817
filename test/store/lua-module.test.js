/** The module that programs load has the scripts as they are in lua/. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { MODULE, moduleText } from '../../build/lua.js'

t.test('src/store/lua.js has the scripts of lua/ as they are there', async (t) => {
  t.equal(await readFile(MODULE, 'utf8'), moduleText(), 'after a change in lua/, write src/store/lua.js with: npm run lua')
})
