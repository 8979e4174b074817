import t from 'tap'
import { definitionKey, namesKey, partitionKey, partitionPattern } from '../../src/feeds/keys.js'

t.test('keys are these', async (t) => {
  t.equal(namesKey('fr:'), 'fr:feeds')
  t.equal(definitionKey('fr:', 'latest'), 'fr:{latest}:feed')
  t.equal(partitionKey('fr:', 'latest', 0)('ids'), 'fr:{latest:0}:ids')
  t.equal(partitionKey('p:', 'a.b', 12)('item:'), 'p:{a.b:12}:item:')
  t.equal(partitionPattern('fr:', 'latest'), 'fr:{latest:*')
})

t.test('all keys of a partition share its hash tag, whatever the part', async (t) => {
  const tagOf = (/** @type {string} */ key) => /\{(.*?)\}/.exec(key)?.[1]
  for (const part of ['ids', 'trimmer', 'item:{x}', 'item:}{']) t.equal(tagOf(partitionKey('fr:', 'latest', 3)(part)), 'latest:3')
})
