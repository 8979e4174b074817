/** The client as one file has the sources of src/client/. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { MODULE, moduleText } from '../../build/client.js'

t.test('src/client.js has the files of src/client/ as they are there', async (t) => {
  t.equal(await readFile(MODULE, 'utf8'), moduleText(), 'after a change in src/client/, write src/client.js with: npm run client')
  const { createEventParser, follow, FollowError, ...others } = await import('../../src/client.js')
  t.same([createEventParser, follow, FollowError].map((one) => typeof one), ['function', 'function', 'function'])
  t.same(others, {}, 'nothing else is exported')
})
