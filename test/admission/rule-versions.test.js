/** Versions of our rules: a text has one, and processes with others decide nothing. */
import t from 'tap'
import { admissionKey, createAgreement } from '../../src/admission/index.js'
import { versionsOfRules } from '../../src/store/index.js'
import { connectFor } from '../servers.js'
import { sharedDeployment } from '../shared.js'
import { admit } from './admit.js'

/** Version and digest. A text that changes gets the next version in its header, and both stand here. */
const VERSIONS = {
  max: '1 1631eea4bd18e32956e209cbaf1896f69f37ff47',
  bounded: '1 6294afe42c310e36f6f3ef8d506a790bf7ae63b9',
  latest: '2 d34bb3c54976d61e0cbf9a71414298b829cb0b5d',
  once: '1 7f388699e55c7e7cb14c3835fed1d360f206c561',
  step: '2 af4ef1dee04222b83de4b133eb9f2ff5710345cb'
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

  await stored('2 ab')
  await t.rejects(create(), {
    code: 'RULE_DIFFERS', message: 'rule max of auctions is stored as version 2, and this process has version 1; use the newer rule'
  })
  await stored('1 ab')
  await t.rejects(create(), { code: 'RULE_DIFFERS', message: /version 1 with another text; raise its version/ })
  await stored('0 ab')
  t.equal((await create()).decisions[0].code, 'created')

  const agreement = () => createAgreement({
    router: /** @type {any} */ (connection), keyPrefix, system: 'auctions', partitions: 1, rules: ['max']
  })
  await agreement().agreed()
  await connection.send('HSET', `${keyPrefix}{@auctions}:system:rules`, 'rule:max', '2 ab')
  await t.rejects(agreement().agreed(), { code: 'RULE_DIFFERS' })
})
