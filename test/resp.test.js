import fc from 'fast-check'
import t from 'tap'
import { holds } from './properties.js'
import { createReplies } from './resp.js'

/** @param {any} tree */
const encoded = (tree) => {
  if (tree === null) return '$-1\r\n'
  if (Array.isArray(tree)) return `*${tree.length}\r\n${tree.map(encoded).join('')}`
  if (typeof tree === 'number') return `:${tree}\r\n`
  return tree.startsWith('+') || tree.startsWith('-') ? `${tree}\r\n` : `$${Buffer.byteLength(tree)}\r\n${tree}\r\n`
}

t.test('replies are found wherever the stream is cut', async (t) => {
  const plain = fc.oneof(fc.integer(), fc.constantFrom('+OK', '-ERR no', null, '', 'a\r\n$3\r\nb'),
    fc.string({ unit: 'grapheme' }).filter((text) => !/^[+-]/.test(text)))
  const { tree } = fc.letrec((tie) => ({ tree: fc.oneof({ depthSize: 'small' }, plain, fc.array(tie('tree'), { maxLength: 4 })) }))
  await holds(t, fc.property(fc.array(tree, { maxLength: 8 }), fc.integer({ min: 1, max: 20 }), (trees, pieceBytes) => {
    const expected = []
    let bytes = Buffer.alloc(0)
    for (const one of trees) {
      bytes = Buffer.concat([bytes, Buffer.from(encoded(one))])
      expected.push(bytes.length)
    }
    const replies = createReplies()
    const found = []
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      found.push(...replies.ends(bytes.subarray(at, at + pieceBytes)).map((end) => at + end))
    }
    return JSON.stringify(found) === JSON.stringify(expected)
  }))
})
