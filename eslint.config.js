import neostandard from 'neostandard'

const IN_BROWSERS = [
  'document', 'EventSource', 'getComputedStyle', 'getSelection', 'history', 'location', 'matchMedia', 'ResizeObserver', 'sessionStorage'
]

export default [
  ...neostandard({ ignores: ['node_modules/', '.freshet/', '.tap/', 'src/store/lua.js'], noJsx: true }),
  {
    rules: {
      'no-console': 'error',
      'max-lines': ['error', { max: 450 }],
      'max-lines-per-function': ['error', { max: 80, skipComments: true, skipBlankLines: true }],
      '@stylistic/max-len': ['error', { code: 140, ignoreRegExpLiterals: true }]
    }
  },
  {
    files: ['test/**', 'regression/**'],
    rules: {
      // a test is one story, however long
      'max-lines-per-function': 'off',
      'no-restricted-syntax': ['error', {
        selector: "CallExpression[callee.property.name='match'] > :nth-child(2) ArrayExpression[elements.length=0]",
        message: 't.match takes any array for []; use t.same, or { length: 0 }'
      }]
    }
  },
  {
    // it runs in browsers, too, where only the console is the same
    files: ['src/client.js', 'src/client/*.js', 'test/client/hostile.test.js'],
    rules: { 'no-console': ['error', { allow: ['warn'] }] }
  },
  {
    // written from src/client
    files: ['src/client.js'],
    rules: { 'max-lines': 'off' }
  },
  {
    files: ['readers/page/**', 'examples/*/page/**'],
    languageOptions: { globals: Object.fromEntries(IN_BROWSERS.map((name) => [name, 'readonly'])) }
  }
]
