/** The optional package of the store of prices. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import t from 'tap'

const STORE = new URL('../../../src/systems/prices/store/index.js', import.meta.url).href

/** @param {string} hook of module loading @param {string} program @returns {Promise<string>} what it prints */
async function run (hook, program) {
  const text = `import { register } from 'node:module'
    register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hook)}`)})
    const { createPriceStore, openPriceStore } = await import(${JSON.stringify(STORE)})
    ${program}`
  return (await promisify(execFile)(process.execPath, ['--input-type=module', '-e', text])).stdout
}

t.test('without the AWS SDK the error says what to install, and without a table it is not loaded', async (t) => {
  const hook = 'export const resolve = async (name, context, next) => { if (!name.startsWith("@aws-sdk/")) return next(name, context);' +
    'throw Object.assign(new Error("absent"), { code: "ERR_MODULE_NOT_FOUND" }) }'
  const printed = await run(hook, `console.log(await openPriceStore({ dynamodbTable: null }, {}))
    await createPriceStore({ table: 'prices' }).catch(({ code, exitStatus, message }) => console.log(code, exitStatus, message))`)
  t.match(printed, /^null\nDYNAMODB_MISSING 2 .*npm install @aws-sdk\/client-dynamodb@3\.1164\.0/)
})
