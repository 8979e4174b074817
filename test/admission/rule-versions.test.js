/** Versions of our rules: a text has one, and processes with others decide nothing. */
import t from 'tap'
import { admissionKey, createAgreement } from '../../src/admission/index.js'
import { versionsOfRules } from '../../src/store/index.js'
import { connectFor } from '../servers.js'
import { sharedDeployment } from '../shared.js'
import { admit } from './admit.js'

/** Version and digest. A text that changes gets the next version in its header, and both stand here. */
const VERSIONS = {
  max: '2 2521ea385001220fdd15b115b4ca72c98e37f829',
  bounded: '3 c768f4393519380b8f2bc1e7366eeb979ffd96f1',
  latest: '2 d34bb3c54976d61e0cbf9a71414298b829cb0b5d',
  once: '2 afa63db9a2ac66e6e3bddd1ab2a0bc4b7e0e2d56',
  step: '2 64b80f9cf4dbef2cefcd1e6aee476c6979fb287b'
}

t.test('a rule whose text was changed has another version', async (t) => {
  t.same(Object.fromEntries(versionsOfRules()), VERSIONS, 'raise VERSION in the header of the rule, and write both here')
})

t.test('a process with an older rule, or another text of it, decides nothing; a newer rule replaces the stored one', async (t) => {
  const { primary, keyPrefix } = await sharedDeployment(t)
  const connection = await connectFor(t, primary.url)
  const keyOf = admissionKey(keyPrefix, 'auctions', 0)
  const options = { replicationId: 'id', requestMs: 60_000, keepMs: 60_000 }
  let requests = 0
  const create = () => admit(connection, keyOf, options, [{
    rule: 'max',
    key: `a${++requests}`,
    scope: 'u',
    requestId: '',
    args: ['create', '100', '10', '0', '9999999999999', '0', '0', '', '', 'EUR']
  }])
  const stored = (/** @type {string} */ version) => connection.send('HSET', keyOf('generation'), 'rule:max', version)
  t.equal((await create()).decisions[0].code, 'created')
  t.equal(String(await connection.send('HGET', keyOf('generation'), 'rule:max')), VERSIONS.max)

  await stored('3 ab')
  await t.rejects(create(), {
    code: 'RULE_DIFFERS', message: 'rule max of auctions is stored as version 3, and this process has version 2; use the newer rule'
  })
  await stored('2 ab')
  await t.rejects(create(), { code: 'RULE_DIFFERS', message: /version 2 with another text; raise its version/ })
  await stored('1 ab')
  t.equal((await create()).decisions[0].code, 'created')

  const agreement = () => createAgreement({
    router: /** @type {any} */ (connection), keyPrefix, system: 'auctions', partitions: 1, rules: ['max']
  })
  await agreement().agreed()
  await connection.send('HSET', `${keyPrefix}{@auctions}:system:rules`, 'rule:max', '3 ab')
  await t.rejects(agreement().agreed(), { code: 'RULE_DIFFERS' })
})
