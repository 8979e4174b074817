/**
 * For a `require` that loads no ES modules, that of Jest: the module itself, loaded by Node.js, so that a process has it once
 * (docs/decisions/036-bundles.md).
 */
const { createRequire } = require('node:vm').runInThisContext('process.getBuiltinModule("node:module")')

module.exports = createRequire(__filename)('./handler.js')
